import { resolve } from 'node:path'
import { isatty } from 'node:tty'
import { AddressWatch } from '#host/address-watch.ts'
import { readMachineIds } from '#host/machine-ids.ts'
import { Mdns } from '#host/mdns.ts'
import { announcedName, announcedServices, announcedText, markOf } from '#host/mdns-services.ts'
import { outerAddresses } from '#host/outer-addresses.ts'
import { notifyUpgrade } from '#host/upgrade-notifier.ts'
import { Watchdog } from '#host/watchdog.ts'
import type { AdminKeyFile } from '#shared/admin-key-file.ts'
import { isLoopback } from '#shared/http/listener.ts'
import { type Component, runUntilStopped, startAll, stopAll } from '#shared/lifecycle.ts'
import { createProgramLog, type Log } from '#shared/log.ts'
import { watchdogTimeoutMs } from '#shared/service/manager.ts'
import { readVersion } from '#shared/version.ts'
import type { Config } from './config.ts'
import { reachableUrl } from './default-route.ts'
import { createGateway } from './gateway.ts'
import type { Gateway } from './restorable-gateway.ts'

export type Addresses = ReturnType<Gateway['addresses']>

/** Services that run in the same process as a gateway. */
export interface EmbeddedServices {
  /** File that keeps its key. */
  keyFile: AdminKeyFile
  /** Creates the component; it is started once the gateway listens, and stopped before it. */
  create: (addresses: Addresses) => Component
}

/** Runs a gateway until `stopping` is aborted; resolves with the exit code. */
export async function runGateway(config: Config, stopping: AbortSignal, company?: EmbeddedServices): Promise<number> {
  const log = await createProgramLog(config.logLevel, isatty(1), process.env.JOURNAL_STREAM)
  const gateway = createGateway(config, log, { onUpgrade: (step) => notifyUpgrade(step) })
  // without a certificate SIGHUP keeps its usual meaning: the terminal has closed
  if (config.tls !== undefined) process.on('SIGHUP', () => void gateway.reloadCertificate())
  let companion: Component | undefined
  let watchdog: Component | undefined
  let addressWatch: Component | undefined
  let mdns: Component | undefined
  const announcement: Component = {
    start: async () => {
      const addresses = gateway.addresses()
      const url = config.publicUrl ?? (await reachableUrl(config.host, addresses.http))
      const codeFile = gateway.setupCode() === null ? undefined : gateway.adminKeyFile()?.path
      log.info({ app: `${url}/app/`, setupCodeIn: codeFile, ...addresses, url }, 'listening')
      const plain = plainDoors(config)
      if (plain !== undefined) log.warn({ host: config.host }, plain)
      companion = company?.create(addresses)
      const code = gateway.setupCode()
      const appUrl = `${url}/app/`
      const setupUrl = code === null ? null : `${appUrl}#setup=${code}`
      const keyFile = company?.keyFile ?? gateway.adminKeyFile()
      welcome({ host: config.host, addresses, plain, keyFile, appUrl, setupUrl })
      await companion?.start()
      const { disk } = gateway
      const watching = new Watchdog({ disk, log, status: `serves ${url}`, timeoutMs: watchdogTimeoutMs() })
      watchdog = watching
      await watching.start()
      if (config.publicUrl === undefined) {
        addressWatch = new AddressWatch(url, {
          read: () => reachableUrl(config.host, addresses.http),
          onChange: (now) => {
            log.info({ url: now }, 'address changed')
            return watching.setStatus(`serves ${now}`)
          },
        })
        await addressWatch.start()
      }
      mdns = createMdns(config, gateway, log)
      await mdns.start()
    },
    stop: async () => {
      await mdns?.stop()
      await addressWatch?.stop()
      await watchdog?.stop()
      await companion?.stop()
    },
  }
  const parts = [gateway, announcement]
  const program: Component = { start: () => startAll(parts), stop: () => stopAll(parts) }
  return runUntilStopped(program, stopping, log)
}

function createMdns({ host, isAnnounced }: Config, gateway: Gateway, log: Log): Mdns {
  const services = announcedServices(gateway.addresses())
  const text = announcedText(readVersion().replace('cartbarn ', ''), gateway.siteName())
  const mark = markOf(readMachineIds(), gateway.identity(), services[0]?.port ?? 0)
  return new Mdns({
    names: announcedName(mark),
    addresses: () => outerAddresses(host),
    text,
    log,
    services: isAnnounced ? services : [],
  })
}

/** Describes the listeners whose traffic others on the network can read; undefined if none. */
function plainDoors({ host, tls, takesPlainHttp, mqttPort }: Config): string | undefined {
  const doors = [...(tls === undefined || takesPlainHttp ? ['HTTP'] : []), ...(mqttPort === undefined ? [] : ['MQTT'])]
  if (isLoopback(host) || doors.length === 0) return undefined
  const what = `${doors.join(' and ')} without encryption`
  return `${what}: others on the network can read keys and positions; see TLS in docs/security.md`
}

interface Shown {
  host: string
  addresses: Addresses
  plain: string | undefined
  keyFile: AdminKeyFile | null
  appUrl: string
  /** Signs a browser in, once: only for a terminal. */
  setupUrl: string | null
}

function welcome({ host, addresses, plain, keyFile, appUrl, setupUrl }: Shown): void {
  const { http, mqtt, mqtts } = addresses
  const isSecure = http.startsWith('https:')
  const shown = [
    `${isSecure ? 'HTTPS' : 'HTTP'} ${http}`,
    ...(mqtt === undefined ? [] : [`MQTT ${mqtt}`]),
    ...(mqtts === undefined ? [] : [`MQTT over TLS ${mqtts}`]),
  ]
  // the certificate names the host as others do, not 127.0.0.1
  const curl = isSecure ? 'curl -k' : 'curl'
  const lines = [
    '',
    '  cartbarn is running.',
    `  Open in a browser      ${setupUrl !== null && isatty(2) ? setupUrl : appUrl}`,
    ...(keyFile === null ? [] : whereTheCodeIs(keyFile, setupUrl !== null)),
    `  Listens                ${shown.join('   ')}`,
    ...outerAddresses(host).map(({ address }) => `  On the network         ${address}`),
    ...(plain === undefined ? [] : [`  Warning                ${plain}`]),
    ...(keyFile === null ? [] : whereTheKeyIs(keyFile)),
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

/** Describes the location of the setup code, with which people sign in without a key. */
function whereTheCodeIs(file: AdminKeyFile, hasCode: boolean): string[] {
  return hasCode ? [`  Setup code             in ${resolve(file.path)}`] : []
}

/** Describes the location of the key; shows the key only on a terminal, as other output may be a readable log. */
function whereTheKeyIs(file: AdminKeyFile): string[] {
  const path = resolve(file.path)
  const value = isatty(2) ? file.read() : `"$(head -n 1 '${path}')"`
  return ['', `  The admin key (in ${path}):`, '', `    export KEY=${value}`]
}
