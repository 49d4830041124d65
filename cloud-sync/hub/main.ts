import { isatty } from 'node:tty'
import { runSiteCommand, type SiteCommand } from '#hub/sites/commands.ts'
import { Sites } from '#hub/sites/sites.ts'
import { FolderInUseError } from '#hub/store/database/folder-lock.ts'
import { openDatabase } from '#hub/store/database/open.ts'
import { type Part, runUntilStopped } from '#shared/lifecycle.ts'
import { createLog, createProgramLog } from '#shared/log.ts'
import { systemClock } from '#shared/time.ts'
import type { HubConfig } from './config.ts'
import { askRunningHub } from './control-socket.ts'
import { createHub } from './hub.ts'

/** Runs a hub until `stopping` is aborted; resolves with the exit code. */
export async function runHub(config: HubConfig, stopping: AbortSignal): Promise<number> {
  const log = await createProgramLog(config.logLevel, isatty(1))
  const hub = createHub(config, log)
  const program: Part = {
    start: async () => {
      await hub.start()
      log.info({ http: hub.url(), database: describeDatabase(config) }, 'listening')
      const key = hub.takeNewAdminKey()
      if (key !== null)
        process.stdout.write(`\n  The admin key, shown only once (keep it):\n\n    export KEY=${key}\n\n`)
    },
    stop: () => hub.stop(),
  }
  return runUntilStopped(program, stopping, log)
}

/** Adds, lists or changes sites; returns what to print. Throws an `Error` that says why it cannot be done. */
export async function manageSites(config: HubConfig, command: SiteCommand): Promise<string> {
  const log = createLog('silent')
  const database = openDatabase({ url: config.databaseUrl, dataDir: config.dataDir, log })
  try {
    await database.start()
    return await runSiteCommand(new Sites(database, systemClock), command)
  } catch (error) {
    if (error instanceof FolderInUseError) return await askHub(config.dataDir, command)
    throw error
  } finally {
    await database.stop()
  }
}

/** The running hub has the embedded database open, so it runs the command. */
async function askHub(dataDir: string, command: SiteCommand): Promise<string> {
  const answer = await askRunningHub(dataDir, command)
  if (answer === undefined)
    throw new Error(
      `another process is using ${dataDir} and does not accept commands: stop it, or try again in a moment`,
    )
  if (!answer.isDone) throw new Error(answer.text)
  return answer.text
}

/** Without the user and password of the database. */
function describeDatabase({ databaseUrl, dataDir }: HubConfig): string {
  if (databaseUrl === undefined) return `embedded, in ${dataDir}`
  const { host, pathname } = new URL(databaseUrl)
  return `${host}${pathname}`
}
