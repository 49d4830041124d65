import { resolve } from 'node:path'
import { isatty } from 'node:tty'
import { Sites } from '#hub/sites/sites.ts'
import { FolderInUseError } from '#hub/store/database/folder-lock.ts'
import { openDatabase } from '#hub/store/database/open.ts'
import { AdminKeyFile } from '#shared/admin-key-file.ts'
import { isLoopback } from '#shared/http/listener.ts'
import { type Component, runUntilStopped } from '#shared/lifecycle.ts'
import { createLog, createProgramLog } from '#shared/log.ts'
import { systemClock } from '#shared/time.ts'
import { HubAdminKey } from './admin-key.ts'
import { type HubCommand, runHubCommand } from './commands.ts'
import type { HubConfig } from './config.ts'
import { sendHubCommand } from './control-socket.ts'
import { createHub } from './hub.ts'

/** Runs a hub until `stopping` is aborted; resolves with the exit code. */
export async function runHub(config: HubConfig, stopping: AbortSignal): Promise<number> {
  const log = await createProgramLog(config.logLevel, isatty(1), process.env.JOURNAL_STREAM)
  const hub = createHub(config, log)
  const program: Component = {
    start: async () => {
      await hub.start()
      log.info({ http: hub.url(), database: describeDatabase(config) }, 'listening')
      const { host, tls } = config
      if (tls === undefined && !isLoopback(host)) log.warn({ host }, WITHOUT_ENCRYPTION)
      const keyFile = hub.adminKeyFile()
      if (keyFile !== null) process.stderr.write(whereTheKeyIs(keyFile))
    },
    stop: () => hub.stop(),
  }
  return runUntilStopped(program, stopping, log)
}

const WITHOUT_ENCRYPTION =
  'HTTP without encryption: others on the network can read keys and positions; set CARTBARN_HUB_TLS_CERT, or let ' +
  'only a proxy reach the hub'

/** The key itself is printed only on a terminal: any other output may be a log with many readers. */
function whereTheKeyIs(file: AdminKeyFile): string {
  const path = resolve(file.path)
  const value = isatty(2) ? file.read() : `"$(cat '${path}')"`
  return `\n  The admin key (in ${path}):\n\n    export KEY=${value}\n\n`
}

/** Runs a command; returns the text to print. Throws an `Error` with a readable message. */
export async function manageHub(config: HubConfig, command: HubCommand): Promise<string> {
  const log = createLog('silent')
  const database = openDatabase({ url: config.databaseUrl, dataDir: config.dataDir, log })
  try {
    await database.start()
    const { dataDir } = config
    const file = new AdminKeyFile(dataDir)
    const adminKey = new HubAdminKey({ database, file, dataDir, clock: systemClock, log }, undefined)
    return await runHubCommand({ sites: new Sites(database, systemClock), adminKey, database }, command)
  } catch (error) {
    if (error instanceof FolderInUseError) return await askHub(config.dataDir, command)
    throw error
  } finally {
    await database.stop()
  }
}

/** The running hub holds the embedded database, so it runs the command. */
async function askHub(dataDir: string, command: HubCommand): Promise<string> {
  const answer = await sendHubCommand(dataDir, command)
  if (answer === undefined)
    throw new Error(
      `another process is using ${dataDir} and does not accept commands: stop it, or try again in a moment`,
    )
  if (!answer.isDone) throw new Error(answer.text)
  return answer.text
}

/** Omits the user and password of the database. */
function describeDatabase({ databaseUrl, dataDir }: HubConfig): string {
  if (databaseUrl === undefined) return `embedded, in ${dataDir}`
  const { host, pathname } = new URL(databaseUrl)
  return `${host}${pathname}`
}
