import { spawnSync } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findPostgres } from '#hub/testing/postgres-binaries.ts'
import { PostgresServer } from '#hub/testing/start-postgres.ts'
import { ForkedScript } from '#scripts/rig/calls.ts'
import { findMosquitto, PERSISTENCE, startMosquitto } from '#scripts/rig/mosquitto-process.ts'
import { withDescendants } from '#scripts/rig/process-usage.ts'
import type { Workbench } from '#scripts/rig/processes.ts'
import { createAnonymousDevices } from '../saturation.ts'
import type { Peer } from './peer.ts'
import type { SubscriberFunctions } from './subscriber.ts'

/** Time within which a subscriber with messages left to store stores some of them. */
const STABLE_MS = 1000

/** Database of a subscriber: a URL of PostgreSQL and its server, or a path. */
interface Storage {
  place: string
  server?: PostgresServer
}

export async function sqliteStorage(bench: Workbench): Promise<Storage> {
  return { place: join(bench.createFolder('subscriber'), 'positions.db') }
}

/** Starts a new cluster, of Debian's newest PostgreSQL or else of the one for tests; null without either. */
export async function postgresStorage(): Promise<Storage | null> {
  const [debian] = globSync('/usr/lib/postgresql/*')
    .filter((path) => existsSync(join(path, 'bin/initdb')))
    .sort((a, b) => Number(basename(b)) - Number(basename(a)))
  const native = debian ?? findPostgres()
  if (native === undefined) return null
  const server = new PostgresServer(native, { fsync: true })
  await server.start()
  return { place: server.url, server }
}

/** Kills the server with its backends: one that outlives the first process prevents a restart. */
async function killPostgres(server: PostgresServer): Promise<void> {
  const backends = [...withDescendants([server.pid])].filter((pid) => pid !== server.pid)
  const killed = server.kill()
  spawnSync('kill', ['-KILL', ...backends.map(String)])
  await killed
}

/** Mosquitto, whose subscriber stores what it receives or, with `isKept`, is away until the broker has restarted. */
interface MosquittoOptions {
  readonly openStorage?: (bench: Workbench) => Promise<Storage | null>
  /** Settings of its persistence; undefined if this Mosquitto cannot have them. */
  readonly persistence?: readonly string[] | undefined
  readonly isKept?: boolean
}

/** Starts Mosquitto, alone or with a subscriber; null without what it needs. */
export async function startMosquittoPeer(
  bench: Workbench,
  devices: number,
  { openStorage, persistence = PERSISTENCE.debian, isKept = false }: MosquittoOptions = {},
): Promise<Peer | null> {
  const program = findMosquitto()
  if (program === undefined) return null
  const storage = await openStorage?.(bench)
  if (storage === null) return null
  const folder = bench.createFolder('mosquitto')
  const start = async () => {
    const mosquitto = await startMosquitto(bench, program, folder, persistence)
    if (storage === undefined) return { mosquitto }
    const subscriber = new ForkedScript<SubscriberFunctions>(bench, new URL('./subscriber.ts', import.meta.url))
    await subscriber.call('start', mosquitto.port, storage.place)
    return { mosquitto, subscriber }
  }
  let running = await start()
  const stored = async () => (await running.subscriber?.call('stored')) ?? 0
  const untilStored = async () => {
    for (let before = -1; before < (await stored()); ) {
      before = await stored()
      await sleep(STABLE_MS)
    }
    if (isKept) await running.subscriber?.call('leave')
  }
  await untilStored()
  return {
    devices: createAnonymousDevices(devices),
    storesLater: isKept,
    port: () => running.mosquitto.port,
    pids: () => [running.mosquitto.process, running.subscriber, storage?.server].flatMap((part) => part?.pid ?? []),
    stored,
    gpsTimes: async (...period) => (await running.subscriber?.call('times', ...period)) ?? [],
    kill: async () => {
      running.mosquitto.process.killNow()
      running.subscriber?.kill()
      if (storage?.server !== undefined) await killPostgres(storage.server)
      await running.mosquitto.process.exited
    },
    recover: async () => {
      await storage?.server?.restart()
      running = await start()
      await untilStored()
    },
    stop: async () => {
      await running.subscriber?.stop()
      await running.mosquitto.process.stop()
      await storage?.server?.stop()
    },
  }
}
