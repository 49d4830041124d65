import { parseArgs } from 'node:util'
import { UsageError } from '../options.ts'

export interface SitesOptions {
  readonly hubUrl: string
  /** Makes the sites at the hub; or the keys of sites that are there. */
  readonly access: { readonly adminKey: string } | { readonly keysFile: string }
  readonly sites: number
  /** Of each site. */
  readonly devices: number
  readonly intervalS: number
  /** Undefined: until it is stopped. */
  readonly durationS: number | undefined
  readonly seed: number
  readonly prefix: string
  readonly sockets: number
  /** Keys may travel in the clear to other machines. */
  readonly isInsecureAllowed: boolean
}

export const SITES_HELP = `Pretends to be the gateways of many sites that replicate to one hub.

  npm run simulate -- --sites N [options]

  --sites N          sites, 1 to 2000
  --hub URL          the hub's address                        (http://127.0.0.1:8090)
  --hub-key KEY      an admin's key of the hub: sites are made there, or get a new key
                     (environment: CARTBARN_HUB_ADMIN_API_KEY)
  --keys-file FILE   instead: site keys that are there already, one in a line
  --devices N        devices of each site, 1 to 1000; each reports once a second (20)
  --interval S       seconds of samples in a push             (8)
  --duration S       stop after S seconds                     (until Ctrl-C)
  --seed N           another seed is other carts              (1)
  --prefix TEXT      first part of every site id              (sim)
  --sockets N        connections to the hub at a time         (64)
  --insecure         send keys over plain HTTP to other machines

  --help             this text
`

const SPECIFICATION = {
  sites: { type: 'string' },
  hub: { type: 'string', default: 'http://127.0.0.1:8090' },
  'hub-key': { type: 'string' },
  'keys-file': { type: 'string' },
  devices: { type: 'string', default: '20' },
  interval: { type: 'string', default: '8' },
  duration: { type: 'string' },
  seed: { type: 'string', default: '1' },
  prefix: { type: 'string', default: 'sim' },
  sockets: { type: 'string', default: '64' },
  insecure: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const

/** Whether a command line is about sites of a hub, not about devices of a gateway. */
export function isAboutSites(argv: readonly string[]): boolean {
  return argv.some((word) => word === '--sites' || word.startsWith('--sites='))
}

/** Reads the command line; undefined asks for the help text. Throws `UsageError`. */
export function parseSitesOptions(argv: readonly string[], env: NodeJS.ProcessEnv): SitesOptions | undefined {
  const values = parse(argv)
  if (values.help) return undefined
  return {
    hubUrl: hubUrl(values.hub),
    access: access(values['hub-key'] ?? env.CARTBARN_HUB_ADMIN_API_KEY, values['keys-file']),
    sites: number('sites', values.sites ?? '', 1, 2000),
    devices: number('devices', values.devices, 1, 1000),
    intervalS: number('interval', values.interval, 1, 3600),
    durationS: values.duration === undefined ? undefined : number('duration', values.duration, 1, 1e9),
    seed: number('seed', values.seed, 0, Number.MAX_SAFE_INTEGER),
    prefix: prefix(values.prefix),
    sockets: number('sockets', values.sockets, 1, 1000),
    isInsecureAllowed: values.insecure,
  }
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: SPECIFICATION, strict: true }).values
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    throw new UsageError(message.split(/[.\n]/)[0] ?? message)
  }
}

function hubUrl(text: string): string {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new UsageError(`--hub must be an address such as https://hub.example.com, not "${text}"`)
  }
  return url.href.replace(/\/+$/, '')
}

function access(adminKey: string | undefined, keysFile: string | undefined): SitesOptions['access'] {
  if (keysFile !== undefined) return { keysFile }
  if (adminKey !== undefined && adminKey !== '') return { adminKey }
  throw new UsageError('keys are needed: --hub-key, CARTBARN_HUB_ADMIN_API_KEY or --keys-file')
}

function number(name: string, text: string, low: number, high: number): number {
  if (!/^\d+$/.test(text) || Number(text) < low || Number(text) > high) {
    throw new UsageError(`--${name} must be a whole number from ${low} to ${high}, not "${text}"`)
  }
  return Number(text)
}

function prefix(text: string): string {
  if (!/^[a-z0-9-]{1,26}$/.test(text)) {
    throw new UsageError(`--prefix must be 1 to 26 lower-case letters, digits or dashes, not "${text}"`)
  }
  return text
}
