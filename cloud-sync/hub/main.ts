import { runSiteCommand, UsageError } from '#hub/sites/commands.ts'
import { Sites } from '#hub/sites/sites.ts'
import { FolderInUseError } from '#hub/store/database/folder-lock.ts'
import { openDatabase } from '#hub/store/database/open.ts'
import { citusStatements } from '#hub/store/database/schema.ts'
import { ConfigError, describeError } from '#shared/errors.ts'
import { createLog } from '#shared/log.ts'
import { systemClock } from '#shared/time.ts'
import { describeHubSettings, type HubConfig, readHubConfig } from './config.ts'
import { askRunningHub } from './control-socket.ts'
import { createHub } from './hub.ts'

const USAGE = `cartbarn hub: where the gateways of many golf courses send what they have

  npm run hub                              start the hub
  npm run hub -- site add NAME [--id ID]   add a site; prints the key of its gateway, once
  npm run hub -- site list                 all sites
  npm run hub -- site rotate ID            another key for a site; the ones it had are revoked
  npm run hub -- site revoke ID            revoke the keys of a site
  npm run hub -- citus                     print what spreads the tables over a Citus cluster
  npm run hub -- --help                    this page
`

async function main(args: readonly string[]): Promise<void> {
  const [command, ...rest] = args
  if (command === '--help') return help()
  if (command === 'citus') return print(citusStatements().join(''))
  const config = readSettings()
  if (config === null) return
  if (command === undefined) return run(config)
  if (command === 'site') return manageSites(config, rest)
  process.stderr.write(USAGE)
  process.exitCode = 2
}

function run(config: HubConfig): void {
  const log = createLog(config.logLevel)
  const hub = createHub(config, log)
  let isStopping = false
  const stop = (signal: string) => {
    if (isStopping) return
    isStopping = true
    log.info({ signal }, 'stopping')
    hub.stop().then(
      () => log.info({}, 'stopped'),
      (error: unknown) => {
        log.error({ reason: describeError(error) }, 'not stopped cleanly')
        process.exitCode = 1
      },
    )
  }
  process.on('SIGINT', () => stop('SIGINT'))
  process.on('SIGTERM', () => stop('SIGTERM'))
  hub.start().then(
    () => {
      log.info({ http: hub.url(), database: describeDatabase(config) }, 'listening')
      const key = hub.takeNewAdminKey()
      if (key !== null) print(`\n  The admin key, shown this once (keep it):\n\n    export KEY=${key}\n\n`)
    },
    (error: unknown) => {
      log.error({ reason: describeError(error) }, 'not started')
      process.exitCode = 1
    },
  )
}

async function manageSites(config: HubConfig, args: readonly string[]): Promise<void> {
  const log = createLog('silent')
  const database = openDatabase({ url: config.databaseUrl, dataDir: config.dataDir, log })
  try {
    await database.start()
    print(await runSiteCommand(new Sites(database, systemClock), args))
  } catch (error) {
    if (error instanceof FolderInUseError) return askHub(config.dataDir, args)
    fail(describeError(error), error instanceof UsageError ? 2 : 1)
  } finally {
    await database.stop()
  }
}

/** The embedded database is open in the hub that runs: it does it. */
async function askHub(dataDir: string, args: readonly string[]): Promise<void> {
  const answer = await askRunningHub(dataDir, args)
  if (answer === undefined) {
    fail(`another process is using ${dataDir}, and takes no commands: stop it, or try again in a moment`, 1)
  } else if (answer.isDone) print(answer.text)
  else fail(answer.text, 1)
}

function readSettings(): HubConfig | null {
  try {
    return readHubConfig(process.env)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    fail(error.message, 2)
    return null
  }
}

function help(): void {
  print(`${USAGE}\nSettings (environment):\n`)
  for (const { name, defaultValue, help } of describeHubSettings()) {
    print(`  ${name.padEnd(34)}${help} [${defaultValue}]\n`)
  }
}

/** Without what only the hub should know. */
function describeDatabase({ databaseUrl, dataDir }: HubConfig): string {
  if (databaseUrl === undefined) return `embedded, in ${dataDir}`
  const { host, pathname } = new URL(databaseUrl)
  return `${host}${pathname}`
}

function print(text: string): void {
  process.stdout.write(text)
}

function fail(message: string, exitCode: number): void {
  process.stderr.write(`${message}\n`)
  process.exitCode = exitCode
}

await main(process.argv.slice(2))
