import { existsSync, globSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findPostgres } from '#hub/testing/postgres-binaries.ts'
import { PostgresServer } from '#hub/testing/start-postgres.ts'
import { ForkedScript } from '#scripts/rig/calls.ts'
import type { BenchDevice } from '#scripts/rig/gateway-api.ts'
import { type MosquittoProcess, startMosquitto } from '#scripts/rig/mosquitto-process.ts'
import { withDescendants } from '#scripts/rig/process-usage.ts'
import type { Workbench } from '#scripts/rig/processes.ts'
import { createAnonymousDevices } from '../saturation-subjects.ts'
import type { Peer } from './peer.ts'
import type { SubscriberFunctions } from './subscriber.ts'
import type { StorePlan } from './subscriber-store.ts'

/** Time within which a subscriber with messages left to store stores some of them. */
const STABLE_MS = 1000

/** Database of a subscriber, and its server if it has one. */
interface Storage {
  name: string
  plan: StorePlan
  server?: PostgresServer
}

export function sqliteStorage(bench: Workbench): Storage {
  const path = join(bench.createFolder('subscriber'), 'positions.db')
  return { name: 'SQLite', plan: { kind: 'sqlite', path } }
}

/** Starts a new cluster, of Debian's newest PostgreSQL or else of the one for tests; undefined without either. */
export async function postgresStorage(): Promise<Storage | undefined> {
  const [debian] = globSync('/usr/lib/postgresql/*')
    .filter((path) => existsSync(join(path, 'bin/initdb')))
    .sort((a, b) => Number(basename(b)) - Number(basename(a)))
  const native = debian ?? findPostgres()
  if (native === undefined) return undefined
  const server = new PostgresServer(native, { fsync: true })
  await server.start()
  const version = debian === undefined ? '' : ` ${basename(debian)}`
  return { name: `PostgreSQL${version}`, plan: { kind: 'postgres', url: server.url }, server }
}

/** Kills the server with its backends: one that outlives the first process prevents a restart. */
async function killPostgres(server: PostgresServer): Promise<void> {
  const backends = [...withDescendants([server.pid])].filter((pid) => pid !== server.pid)
  const killed = server.kill()
  for (const pid of backends) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // it has already exited
    }
  }
  await killed
}

/** Mosquitto, which acknowledges from memory, alone or with a subscriber that stores. */
export class MosquittoPeer implements Peer {
  readonly name: string
  readonly devices: readonly BenchDevice[]
  readonly #bench: Workbench
  readonly #program: string
  readonly #folder: string
  readonly #storage: Storage | undefined
  #mosquitto: MosquittoProcess | undefined
  #subscriber: ForkedScript<SubscriberFunctions> | undefined

  private constructor(bench: Workbench, program: string, devices: number, storage: Storage | undefined) {
    this.name = storage === undefined ? 'Mosquitto' : `Mosquitto + Node + ${storage.name}`
    this.#bench = bench
    this.#program = program
    this.#folder = bench.createFolder('mosquitto')
    this.#storage = storage
    this.devices = createAnonymousDevices(devices)
  }

  static async create(bench: Workbench, program: string, devices: number, storage?: Storage): Promise<MosquittoPeer> {
    const peer = new MosquittoPeer(bench, program, devices, storage)
    await peer.#start()
    return peer
  }

  get port(): number {
    return this.#mosquitto?.port ?? 0
  }

  get pids(): number[] {
    const parts = [this.#mosquitto?.process, this.#subscriber, this.#storage?.server]
    return parts.flatMap((part) => (part === undefined ? [] : [part.pid]))
  }

  async stored(): Promise<number> {
    return (await this.#subscriber?.call('stored')) ?? 0
  }

  async gpsTimes(hardwareId: string, fromMs: number, toMs: number): Promise<number[]> {
    return (await this.#subscriber?.call('times', hardwareId, fromMs, toMs)) ?? []
  }

  async kill(): Promise<void> {
    this.#mosquitto?.process.killNow()
    this.#subscriber?.kill()
    const server = this.#storage?.server
    if (server !== undefined) await killPostgres(server)
    await this.#mosquitto?.process.exited
  }

  async recover(): Promise<void> {
    await this.#storage?.server?.restart()
    await this.#start()
    for (let before = -1; before < (await this.stored()); ) {
      before = await this.stored()
      await sleep(STABLE_MS)
    }
  }

  async stop(): Promise<void> {
    await this.#subscriber?.stop()
    await this.#mosquitto?.process.stop()
    await this.#storage?.server?.stop()
  }

  async #start(): Promise<void> {
    this.#mosquitto = await startMosquitto(this.#bench, this.#program, this.#folder)
    if (this.#storage === undefined) return
    const script = new URL('./subscriber.ts', import.meta.url)
    this.#subscriber = new ForkedScript<SubscriberFunctions>(this.#bench, 'subscriber', script)
    await this.#subscriber.call('start', this.#mosquitto.port, this.#storage.plan)
  }
}
