import { InvalidArgumentError, Option } from '@commander-js/extra-typings'
import type { CommandIo } from '#scripts/cli/command.ts'
import {
  address,
  createCommandLine,
  matching,
  number,
  parseCommandLine,
  wholeNumber,
} from '#scripts/cli/command-line.ts'
import { KEY_VARIABLE, requireKey } from '#scripts/cli/gateway-options.ts'
import type { LatLong } from './course/plane.ts'

export type Qos = 0 | 1 | 2

export interface SimulateOptions {
  readonly gatewayUrl: string
  readonly brokerUrl: string
  readonly adminKey: string
  /** Undefined: the admin registers the devices. */
  readonly enrolmentKey?: string | undefined
  readonly carts: number
  readonly days: number
  readonly seed: number
  readonly speedUp: number
  readonly qos: Qos
  readonly historyDays: number
  readonly isLive: boolean
  /** Days before the fleet was registered, filled in parallel with driving live, unless they exist. */
  readonly pastDays: number
  /** Undefined: until it is stopped. */
  readonly durationS: number | undefined
  readonly center: LatLong
  readonly prefix: string
  /** True: sets the zones and the settings of the course at the gateway, if it has none. */
  readonly setsUp: boolean
  readonly hasIncidents: boolean
}

/** Reads the command line. Throws `UsageError`. */
export function parseOptions(
  argv: readonly string[],
  io: Pick<CommandIo, 'env' | 'folder' | 'stdout'>,
): SimulateOptions {
  const command = createCommandLine('simulate', io)
    .description(
      'Drives a simulated fleet of golf carts against a running gateway. The day begins mid-morning with every ' +
        'cart on ' +
        'the course. With --sites N it simulates N sites with their gateways that replicate to one hub: --sites 1 ' +
        '--help prints those options.',
    )
    .option('--url <url>', "the gateway's HTTP address", address('http:', 'https:'), 'http://127.0.0.1:8080')
    .option(
      '--mqtt <url>',
      'its MQTT address (by default mqtt://HOST:1883 with the host of --url)',
      address('mqtt:', 'mqtts:', 'ws:', 'wss:', 'tcp:'),
    )
    .option('--key <key>', `an admin's API key (environment: ${KEY_VARIABLE}, which ps does not show)`)
    .option('--key-file <file>', 'instead: the file that holds it')
    .option('--enrolment-key <key>', 'devices that are not known yet register themselves with it')
    .option('--carts <n>', 'carts on the course', wholeNumber(1, 5000), 20)
    .option('--seed <n>', 'seed of the course and the fleet', wholeNumber(0), 1)
    .addOption(
      new Option('--center <lat,long>', 'where the course lies')
        .argParser(center)
        .default({ lat: 28.41, long: -81.58 }, '28.41,-81.58'),
    )
    .option(
      '--prefix <text>',
      'first part of every hardware id',
      matching(/^[A-Za-z0-9._-]{1,48}$/, '1 to 48 letters, digits, dots, dashes or underscores'),
      'sim',
    )
    .option(
      '--set-up',
      'give the gateway the barn, the boundary and the settings of the course, if it has no zones and no name',
    )
    .addOption(
      new Option('--qos <level>', 'quality of service of telemetry')
        .choices(['0', '1', '2'] as const)
        .default('1' as const),
    )
    .optionsGroup('Live, unless --history is given alone:')
    .option('--live', 'drive live, also after --history')
    .option('--speed-up <n>', 'carts live n times as fast; times sent stay real', number(0.001, 3600), 1)
    .option('--days <n>', 'different days of play, then the first again', wholeNumber(1, 3650), 1)
    .option(
      '--no-incidents',
      'no cart of ten or more runs low, leaves the course, falls asleep or silent, or is left unlocked',
    )
    .option('--duration <s>', 'stop after this many seconds (by default at Ctrl-C)', number(0, 1e9))
    .option(
      '--past <days>',
      'meanwhile, import the positions and voltages of the days before the fleet was registered, where they are ' +
        'missing',
      wholeNumber(0, 3650),
      0,
    )
    .optionsGroup('Past days, as fast as the gateway takes them:')
    .option(
      '--history <days>',
      'fill the days before today, and today up to now: 12 hours a day, a fix in 5 s of a cart that is out and ' +
        'in 60 s of one that is in; the same seed and options send the same samples again',
      wholeNumber(0, 3650),
      0,
    )
  const { url, key, keyFile, enrolmentKey, mqtt, qos, history, live, past, duration, ...more } = parseCommandLine(
    command,
    argv,
  ).opts()
  const { setUp, incidents, ...given } = more
  const adminKey = requireKey({ key, keyFile }, io)
  return {
    ...given,
    adminKey,
    enrolmentKey,
    gatewayUrl: url,
    brokerUrl: mqtt ?? `mqtt://${new URL(url).hostname}:1883`,
    qos: QOS[qos],
    historyDays: history,
    isLive: live ?? history === 0,
    pastDays: past,
    durationS: duration,
    setsUp: setUp ?? false,
    hasIncidents: incidents,
  }
}

const QOS: Readonly<Record<'0' | '1' | '2', Qos>> = { 0: 0, 1: 1, 2: 2 }

function center(text: string): LatLong {
  const [, lat, long] = /^(-?\d+(?:\.\d+)?),\s*(-?\d+(?:\.\d+)?)$/.exec(text) ?? []
  // beyond 85 degrees a course would span too many degrees of longitude
  if (lat === undefined || long === undefined || Math.abs(Number(lat)) > 85 || Math.abs(Number(long)) > 180)
    throw new InvalidArgumentError('It must be LAT,LONG in degrees such as 28.41,-81.58.')
  return { lat: Number(lat), long: Number(long) }
}
