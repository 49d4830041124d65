import { type Fleet, type FleetScreen, startFleet } from './simulate/fleet.ts'
import { HELP, parseOptions, UsageError } from './simulate/options.ts'
import { GatewayError } from './simulate/register.ts'
import { HubError } from './simulate/sites/keys.ts'
import { isAboutSites, parseSitesOptions, SITES_HELP } from './simulate/sites/options.ts'
import { startSites } from './simulate/sites/sites.ts'

const start = readCommandLine()
if (start !== undefined) await simulate(start)

/** What starts the simulation that was asked for; undefined when it was the help text. */
function readCommandLine(): ((screen: FleetScreen) => Fleet) | undefined {
  const argv = process.argv.slice(2)
  try {
    if (isAboutSites(argv)) {
      const options = parseSitesOptions(argv, process.env)
      if (options !== undefined) return (screen) => startSites(options, screen)
      process.stdout.write(SITES_HELP)
    } else {
      const options = parseOptions(argv, process.env)
      if (options !== undefined) return (screen) => startFleet(options, screen)
      process.stdout.write(HELP)
    }
    return undefined
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    process.stderr.write(`simulate: ${error.message} (see --help)\n`)
    process.exit(2)
  }
}

async function simulate(start: (screen: FleetScreen) => Fleet): Promise<void> {
  const canRewrite = process.stderr.isTTY === true
  let shownAtMs = 0
  const fleet = start({
    line: (text) => {
      if (canRewrite) process.stderr.write('\r\x1b[K')
      process.stdout.write(`${text}\n`)
    },
    progress: (text) => {
      if (canRewrite) process.stderr.write(`\r\x1b[K${text}`)
      else if (Date.now() - shownAtMs >= 5_000) {
        shownAtMs = Date.now()
        process.stderr.write(`${text}\n`)
      }
    },
  })
  stopOnRequest(fleet)
  try {
    await fleet.done
  } catch (error) {
    if (!(error instanceof GatewayError) && !(error instanceof HubError)) throw error
    process.stderr.write(`simulate: ${error.message}\n`)
    process.exitCode = 1
  }
  // an open handle of a connection that never came about must not keep the process
  process.exit()
}

function stopOnRequest(fleet: { stop(): Promise<void> }): void {
  let isStopping = false
  const stop = () => {
    if (isStopping) process.exit(130)
    isStopping = true
    // what goes wrong is reported by `done`
    fleet.stop().catch(() => undefined)
  }
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
  // started by a gateway (--demo), the fleet goes when the gateway goes
  process.on('disconnect', stop)
}
