import { parseArgs } from 'node:util'
import type { LatLong } from './course/plane.ts'
import type { Qos } from './device-client.ts'

export interface SimulateOptions {
  readonly gatewayUrl: string
  readonly brokerUrl: string
  readonly adminKey: string
  readonly carts: number
  readonly days: number
  readonly seed: number
  readonly speedUp: number
  readonly qos: Qos
  readonly historyDays: number
  readonly isLive: boolean
  /** Undefined: until it is stopped. */
  readonly durationS: number | undefined
  readonly center: LatLong
  readonly prefix: string
}

/** A wrong option: one line for the person who typed it. */
export class UsageError extends Error {}

export const HELP = `Drives a simulated fleet of golf carts against a running gateway.

  npm run simulate -- [options]

  --url URL          the gateway's HTTP address               (http://127.0.0.1:8080)
  --mqtt URL         its MQTT address                         (mqtt://<host of --url>:1883)
  --key KEY          an admin's API key                       (environment: CARTBARN_ADMIN_API_KEY)
  --carts N          carts on the course, 1 to 5000           (20)
  --seed N           another seed is another course and fleet (1)
  --center LAT,LONG  where the course lies                    (28.41,-81.58)
  --prefix TEXT      first part of every hardware id          (sim)
  --qos 0|1|2        quality of service of telemetry          (1)

Live, unless --history is given alone: the day begins mid-morning with every cart on the course.

  --live             drive live, also after --history
  --speed-up N       carts live N times as fast; times sent stay real (1)
  --days N           different days of play, then the first again (1)
  --duration S       stop after S seconds                     (until Ctrl-C)

Past days, as fast as the gateway takes them:

  --history N        fill the N days before today, and today up to now; the same seed
                     and options again send the same samples again

  --help             this text

With --sites N: N sites with their gateways that replicate to one hub; --sites 1 --help lists the options.
`

const SPECIFICATION = {
  url: { type: 'string', default: 'http://127.0.0.1:8080' },
  mqtt: { type: 'string' },
  key: { type: 'string' },
  carts: { type: 'string', default: '20' },
  days: { type: 'string', default: '1' },
  seed: { type: 'string', default: '1' },
  'speed-up': { type: 'string', default: '1' },
  qos: { type: 'string', default: '1' },
  history: { type: 'string', default: '0' },
  live: { type: 'boolean', default: false },
  duration: { type: 'string' },
  center: { type: 'string', default: '28.41,-81.58' },
  prefix: { type: 'string', default: 'sim' },
  help: { type: 'boolean', default: false },
} as const

/** Reads the command line; undefined asks for the help text. Throws `UsageError`. */
export function parseOptions(argv: readonly string[], env: NodeJS.ProcessEnv): SimulateOptions | undefined {
  const values = parse(argv)
  if (values.help) return undefined
  const gatewayUrl = url('url', values.url, ['http:', 'https:'])
  const adminKey = values.key ?? env.CARTBARN_ADMIN_API_KEY ?? ''
  if (adminKey === '') throw new UsageError('an admin key is needed: --key or CARTBARN_ADMIN_API_KEY')
  const historyDays = integer('history', values.history, 0, 3650)
  return {
    gatewayUrl: gatewayUrl.href.replace(/\/+$/, ''),
    brokerUrl: broker(values.mqtt, gatewayUrl),
    adminKey,
    carts: integer('carts', values.carts, 1, 5000),
    days: integer('days', values.days, 1, 3650),
    seed: integer('seed', values.seed, 0, Number.MAX_SAFE_INTEGER),
    speedUp: number('speed-up', values['speed-up'], 0.001, 3600),
    qos: qos(values.qos),
    historyDays,
    isLive: values.live || historyDays === 0,
    durationS: values.duration === undefined ? undefined : number('duration', values.duration, 0, 1e9),
    center: center(values.center),
    prefix: prefix(values.prefix),
  }
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({ args: joinNegatives(argv), options: SPECIFICATION, strict: true }).values
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    throw new UsageError(message.split(/[.\n]/)[0] ?? message)
  }
}

/** `--center -33.9,18.4` means what it says: a value may begin with a minus sign. */
function joinNegatives(argv: readonly string[]): string[] {
  const joined: string[] = []
  for (const word of argv) {
    const option = joined.at(-1)
    if (/^-[\d.]/.test(word) && option?.startsWith('--') && !option.includes('=')) {
      joined[joined.length - 1] = `${option}=${word}`
    } else joined.push(word)
  }
  return joined
}

function url(name: string, text: string, protocols: readonly string[]): URL {
  const parsed = URL.parse(text)
  if (parsed === null || !protocols.includes(parsed.protocol)) {
    throw new UsageError(`--${name} must be an address such as ${protocols[0]}//127.0.0.1, not "${text}"`)
  }
  return parsed
}

function broker(text: string | undefined, gatewayUrl: URL): string {
  if (text === undefined) return `mqtt://${gatewayUrl.hostname}:1883`
  return url('mqtt', text, ['mqtt:', 'mqtts:', 'ws:', 'wss:', 'tcp:']).href
}

function integer(name: string, text: string, low: number, high: number): number {
  if (!/^-?\d+$/.test(text) || Number(text) < low || Number(text) > high) {
    throw new UsageError(`--${name} must be a whole number from ${low} to ${high}, not "${text}"`)
  }
  return Number(text)
}

function number(name: string, text: string, low: number, high: number): number {
  const value = text.trim() === '' ? Number.NaN : Number(text)
  if (!(value >= low && value <= high)) {
    throw new UsageError(`--${name} must be a number from ${low} to ${high}, not "${text}"`)
  }
  return value
}

function qos(text: string): Qos {
  if (text === '0') return 0
  if (text === '1') return 1
  if (text === '2') return 2
  throw new UsageError(`--qos must be 0, 1 or 2, not "${text}"`)
}

function center(text: string): LatLong {
  const [, lat, long] = /^(-?\d+(?:\.\d+)?),\s*(-?\d+(?:\.\d+)?)$/.exec(text) ?? []
  // beyond 85 degrees a course would span too many degrees of longitude
  if (lat === undefined || long === undefined || Math.abs(Number(lat)) > 85 || Math.abs(Number(long)) > 180) {
    throw new UsageError(`--center must be LAT,LONG in degrees such as 28.41,-81.58, not "${text}"`)
  }
  return { lat: Number(lat), long: Number(long) }
}

function prefix(text: string): string {
  if (!/^[A-Za-z0-9._-]{1,48}$/.test(text)) {
    throw new UsageError(
      `--prefix must be 1 to 48 letters, digits, dots, dashes or underscores, not "${text}"`,
    )
  }
  return text
}
