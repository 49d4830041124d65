import { networkInterfaces } from 'node:os'
import { isatty } from 'node:tty'
import { type Part, runUntilStopped, startAll, stopAll } from '#shared/lifecycle.ts'
import { createProgramLog } from '#shared/log.ts'
import type { Config } from './config.ts'
import { createGateway, type Gateway } from './gateway.ts'

/** A gateway that listens. */
export interface RunningGateway {
  addresses: ReturnType<Gateway['addresses']>
  /** The key of the first admin, if this start made it. */
  newAdminKey: string | null
}

/**
 * Runs a gateway until `stopping` is aborted; resolves with the exit code. What `createCompanion` makes is started once
 * the gateway listens, and stopped before it.
 */
export async function runGateway(
  config: Config,
  stopping: AbortSignal,
  createCompanion?: (gateway: RunningGateway) => Part,
): Promise<number> {
  const log = await createProgramLog(config.logLevel, isatty(1))
  const gateway = createGateway(config, log)
  // without a certificate it keeps its usual meaning: the terminal is gone
  if (config.tls !== undefined) process.on('SIGHUP', () => void gateway.reloadCertificate())
  let companion: Part | undefined
  const announcement: Part = {
    start: async () => {
      const running = { addresses: gateway.addresses(), newAdminKey: gateway.takeNewAdminKey() }
      log.info(running.addresses, 'listening')
      companion = createCompanion?.(running)
      welcome(config.host, running)
      await companion?.start()
    },
    stop: async () => companion?.stop(),
  }
  const parts = [gateway, announcement]
  const program: Part = { start: () => startAll(parts), stop: () => stopAll(parts) }
  return runUntilStopped(program, stopping, log)
}

function welcome(host: string, { addresses, newAdminKey }: RunningGateway): void {
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
    ...(newAdminKey === null
      ? []
      : ['', '  The admin key, shown this once (keep it):', '', `    export KEY=${newAdminKey}`]),
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
