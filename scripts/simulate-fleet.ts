import { startFleet } from './simulate/fleet.ts'
import { HELP, parseOptions, type SimulateOptions, UsageError } from './simulate/options.ts'
import { GatewayError } from './simulate/register.ts'

const options = readOptions()
if (options === undefined) process.stdout.write(HELP)
else await simulate(options)

function readOptions(): SimulateOptions | undefined {
  try {
    return parseOptions(process.argv.slice(2), process.env)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    process.stderr.write(`simulate: ${error.message} (see --help)\n`)
    process.exit(2)
  }
}

async function simulate(options: SimulateOptions): Promise<void> {
  const canRewrite = process.stderr.isTTY === true
  let shownAtMs = 0
  const fleet = startFleet(options, {
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
    if (!(error instanceof GatewayError)) throw error
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
