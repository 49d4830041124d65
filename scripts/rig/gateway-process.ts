import { z } from 'zod'
import { GatewayApi } from './gateway-api.ts'
import type { BenchProcess, Workbench } from './processes.ts'

const START_LIMIT_MS = 60_000

/** Key of the first admin of every gateway under test. */
export const ADMIN_KEY = 'bench-admin-key-0123456789abcdef'

const listeningSchema = z.object({
  http: z.string(),
  mqtt: z.string(),
})

export interface GatewayOptions {
  /** `cartbarn.ts` of this checkout or another, `gateway/main.ts` of one that has no such entry, or an executable. */
  entry: string
  dataDir: string
  /** Ports to use, as after a restart; without them any free ones. */
  ports?: { http: number; mqtt: number } | undefined
  /** Library to load before all others. */
  preload?: string | undefined
  /** Additional environment variables: settings, or variables that the library reads. */
  env?: Record<string, string>
}

/** Lifts limits that would reduce the load of a benchmark, which comes from one address with one key. */
const UNLIMITED = {
  CARTBARN_REQUESTS_PER_SECOND: '0',
  CARTBARN_MQTT_MESSAGES_PER_SECOND: '0',
  CARTBARN_MQTT_CONNECTIONS_PER_ADDRESS: '10000',
  CARTBARN_USER_MQTT_CONNECTIONS: '10000',
  CARTBARN_USER_MQTT_SESSIONS: '10000',
  CARTBARN_USER_MQTT_SUBSCRIPTIONS: '100000',
  CARTBARN_MQTT_FAILED_LOGINS_PER_SECOND: '0',
}

/** Default limits of an installation, for a gateway that must have limits. */
export const LIMITED = {
  CARTBARN_REQUESTS_PER_SECOND: '50',
  CARTBARN_MQTT_MESSAGES_PER_SECOND: '500',
  CARTBARN_MQTT_CONNECTIONS_PER_ADDRESS: '2500',
  CARTBARN_MQTT_FAILED_LOGINS_PER_SECOND: '5',
  CARTBARN_USER_MQTT_CONNECTIONS: '20',
  CARTBARN_USER_MQTT_SESSIONS: '10',
  CARTBARN_USER_MQTT_SUBSCRIPTIONS: '200',
}

/** Gateway under test, in its own process. */
export interface GatewayProcess {
  process: BenchProcess
  api: GatewayApi
  ports: { http: number; mqtt: number }
  realtimeUrl: string
}

/** Starts a gateway; resolves when it listens. */
export function startGateway(bench: Workbench, options: GatewayOptions): Promise<GatewayProcess> {
  return untilListening(spawnGateway(bench, options))
}

/** Starts a gateway without waiting until it listens. */
export function spawnGateway(bench: Workbench, options: GatewayOptions): BenchProcess {
  const [program, ...words] = commandLineOf(options.entry)
  return bench.spawn('gateway', program, words, {
    CARTBARN_DATA_DIR: options.dataDir,
    CARTBARN_HOST: '127.0.0.1',
    CARTBARN_HTTP_PORT: String(options.ports?.http ?? 0),
    CARTBARN_MQTT_PORT: String(options.ports?.mqtt ?? 0),
    CARTBARN_ADMIN_API_KEY: ADMIN_KEY,
    CARTBARN_LOG_LEVEL: 'info',
    // generated histories may be older than a gateway's retention, and would be deleted while they are read
    CARTBARN_RETENTION_DAYS: '0',
    ...UNLIMITED,
    ...(options.preload === undefined ? {} : { LD_PRELOAD: options.preload }),
    ...options.env,
  })
}

function commandLineOf(entry: string): [string, ...string[]] {
  if (entry.endsWith('gateway/main.ts')) return [process.execPath, entry]
  return entry.endsWith('.ts') ? [process.execPath, entry, 'run'] : [entry, 'run']
}

/** Resolves when the gateway listens; rejects if it ends before. */
export async function untilListening(started: BenchProcess): Promise<GatewayProcess> {
  const listening = await started.take('"listening"', START_LIMIT_MS, readListening)
  const ports = {
    http: Number(new URL(listening.http).port),
    mqtt: Number(new URL(listening.mqtt).port),
  }
  const realtimeUrl = `ws://127.0.0.1:${ports.http}/realtime?api_key=${ADMIN_KEY}`
  const api = new GatewayApi({ url: `http://127.0.0.1:${ports.http}`, apiKey: ADMIN_KEY })
  return { process: started, api, ports, realtimeUrl }
}

function readListening(line: string): z.infer<typeof listeningSchema> | undefined {
  return line.includes('"msg":"listening"') ? listeningSchema.parse(JSON.parse(line)) : undefined
}

/** perf_hooks reports the time between two ticks of a 10 ms timer, so an idle loop reads 10 ms. */
const LOOP_TIMER_PERIOD_MS = 10

/** 99th percentile of the main thread's delay in ms since the last call: each scrape starts a new histogram. */
export async function readLoopDelayP99Ms(api: GatewayApi): Promise<number> {
  const lagS = (await api.metrics()).get('nodejs_eventloop_lag_p99_seconds')
  if (lagS === undefined) throw new Error('the gateway has no nodejs_eventloop_lag_p99_seconds')
  return Math.max(0, lagS * 1000 - LOOP_TIMER_PERIOD_MS)
}
