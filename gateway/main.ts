import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { networkInterfaces } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { ConfigError, describeError } from '#shared/errors.ts'
import { createLog } from '#shared/log.ts'
import { type Config, describeSettings, readConfig } from './config.ts'
import { createGateway, type Gateway } from './gateway.ts'

const USAGE = `cartbarn: the fleet gateway of a golf course

  npm start                    start the gateway
  npm start -- --demo          the same, with a simulated course on it
  npm start -- --config FILE   settings from a JSON file; the environment wins
  npm start -- --help          this page
`

function main(): void {
  const options = readOptions()
  if (options === null) return
  const config = readSettings(options.config)
  if (config === null) return
  const log = createLog(config.logLevel)
  const gateway = createGateway(config, log)
  let demo: ChildProcess | undefined
  let isStopping = false

  const stop = (signal: string) => {
    if (isStopping) return
    isStopping = true
    log.info({ signal }, 'stopping')
    const stopped = demo === undefined ? gateway.stop() : stopDemo(demo).then(() => gateway.stop())
    stopped.then(
      () => log.info({}, 'stopped'),
      (error: unknown) => {
        log.error({ reason: describeError(error) }, 'not stopped cleanly')
        process.exitCode = 1
      },
    )
  }
  process.on('SIGINT', () => stop('SIGINT'))
  process.on('SIGTERM', () => stop('SIGTERM'))
  // without a certificate it keeps its usual meaning: the terminal is gone
  if (config.tls !== undefined) process.on('SIGHUP', () => void gateway.reloadCertificate())

  gateway.start().then(
    () => {
      const addresses = gateway.addresses()
      log.info(addresses, 'listening')
      const adminKey = gateway.takeNewAdminKey()
      if (!options.demo) return welcome(config.host, addresses, adminKey)
      const demoKey = adminKey ?? config.adminApiKey
      if (demoKey === undefined) {
        process.stderr.write(
          '--demo needs the admin key: set CARTBARN_ADMIN_API_KEY, or use an empty CARTBARN_DATA_DIR\n',
        )
        return stop('no key for the demo')
      }
      welcome(config.host, addresses, adminKey)
      demo = startDemo(addresses, demoKey)
    },
    (error: unknown) => {
      log.error({ reason: describeError(error) }, 'not started')
      process.exitCode = 1
    },
  )
}

interface Options {
  demo: boolean
  config: string | undefined
}

function readOptions(): Options | null {
  try {
    const { values } = parseArgs({
      options: {
        demo: { type: 'boolean', default: false },
        config: { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    })
    if (values.help) {
      process.stdout.write(
        `${USAGE}\nSettings (environment, or the same names in the file; CARTBARN_HUB_* are the head office's):\n`,
      )
      for (const { name, defaultValue, help } of describeSettings()) {
        process.stdout.write(`  ${name.padEnd(34)}${help} [${defaultValue}]\n`)
      }
      return null
    }
    return { demo: values.demo, config: values.config }
  } catch (error) {
    process.stderr.write(`${describeError(error)}\n\n${USAGE}`)
    process.exitCode = 2
    return null
  }
}

function readSettings(file: string | undefined): Config | null {
  try {
    return readConfig(process.env, file)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exitCode = 2
    return null
  }
}

function welcome(host: string, addresses: ReturnType<Gateway['addresses']>, adminKey: string | null): void {
  const { http, mqtt, mqtts } = addresses
  const isSecure = http.startsWith('https:')
  const shown = [
    `${isSecure ? 'HTTPS' : 'HTTP'} ${http}`,
    ...(mqtt === undefined ? [] : [`MQTT ${mqtt}`]),
    ...(mqtts === undefined ? [] : [`MQTT over TLS ${mqtts}`]),
  ]
  // the certificate names the machine as others call it, and not 127.0.0.1
  const curl = isSecure ? 'curl -k' : 'curl'
  const lines = [
    '',
    `  cartbarn is running.   ${shown.join('   ')}`,
    ...onTheNetwork(host).map((address) => `  On the network         ${address}`),
    ...(adminKey === null
      ? []
      : ['', '  The admin key, shown this once (keep it):', '', `    export KEY=${adminKey}`]),
    '',
    '  Try:',
    `    ${curl} -H "X-API-Key: $KEY" ${http}/devices`,
    `    ${curl} -H "X-API-Key: $KEY" ${http}/stats`,
    `    ${curl} -X POST -H "X-API-Key: $KEY" -H "Content-Type: application/json" \\`,
    `         -d '{"hardware_id":"cart-1","device_type":"teebox"}' ${http}/devices`,
    '',
  ]
  process.stderr.write(`${lines.join('\n')}\n`)
}

/** Where carts and tablets find a gateway that listens everywhere. */
function onTheNetwork(host: string): string[] {
  if (host !== '0.0.0.0' && host !== '::') return []
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ family, internal }) => family === 'IPv4' && !internal)
    .map(({ address }) => address)
}

/** A simulated course in a process of its own, like real devices. */
function startDemo(addresses: ReturnType<Gateway['addresses']>, adminKey: string): ChildProcess {
  const { http, mqtt, mqtts } = addresses
  const broker = mqtt ?? mqtts
  const script = fileURLToPath(new URL('../scripts/commands/simulate.ts', import.meta.url))
  // to this very process over the loopback, which its certificate need not name
  const trust = http.startsWith('https:') ? { NODE_TLS_REJECT_UNAUTHORIZED: '0', NODE_NO_WARNINGS: '1' } : {}
  return spawn(
    process.execPath,
    [script, '--url', http, ...(broker === undefined ? [] : ['--mqtt', broker])],
    {
      // the channel ends with this process, however it ends, and the simulator with it
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      env: { ...process.env, ...trust, CARTBARN_ADMIN_API_KEY: adminKey },
    },
  )
}

/** Lets the simulated devices say goodbye, for a moment. */
async function stopDemo(demo: ChildProcess): Promise<void> {
  if (demo.exitCode !== null) return
  demo.kill('SIGTERM')
  await Promise.race([once(demo, 'exit'), new Promise((resolve) => setTimeout(resolve, 3_000).unref())])
}

main()
