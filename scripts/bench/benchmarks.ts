import type { Topic } from '#scripts/rig/figure-tables.ts'
import type { Scenario } from '#scripts/rig/scenario.ts'
import { counts } from './api/counts.ts'
import { downloads } from './api/downloads.ts'
import { requests } from './api/requests.ts'
import { first as firstBackup } from './backup/backup.ts'
import { idle } from './broker/idle.ts'
import { neighbours as brokerNeighbours } from './broker/neighbours.ts'
import { soak } from './broker/soak.ts'
import { storm } from './broker/storm.ts'
import { day } from './dashboard/day.ts'
import { firstLoad } from './dashboard/first-load.ts'
import { line } from './dashboard/line.ts'
import { load } from './dashboard/load.ts'
import { memory as pageMemory } from './dashboard/memory.ts'
import { slow } from './dashboard/slow.ts'
import { zones } from './dashboard/zones.ts'
import { bare as bareDisk, everything as wholeDisk } from './disk/disk.ts'
import { active } from './history/active.ts'
import { blocks as blockCodec } from './history/blocks.ts'
import { neighbours as historyNeighbours } from './history/neighbours.ts'
import { sealing } from './history/sealing.ts'
import { size as historySize } from './history/size.ts'
import { tripsFleet } from './history/trips-fleet.ts'
import { tripsOne } from './history/trips-one.ts'
import { kill } from './ingest/kill.ts'
import { memory } from './ingest/memory.ts'
import { peers } from './ingest/peers/peers.ts'
import { fewClients, saturation } from './ingest/saturation.ts'
import { steady } from './ingest/steady.ts'
import { gatewayRows } from './neighbours/gateway-rows.ts'
import { hubRows } from './neighbours/hub-rows.ts'
import { everything as everySocket, named as namedSockets } from './realtime/fan-out.ts'
import { maps as reportMaps, months as reportMonths, neighbours as reportNeighbours } from './reports/reports.ts'
import { alerts } from './staff/alerts.ts'
import { heartbeat } from './staff/heartbeat.ts'
import { ingest as staffIngest } from './staff/ingest.ts'
import { list } from './staff/list.ts'
import { orders } from './staff/orders.ts'
import { rounds } from './staff/rounds.ts'
import { tablets } from './staff/tablets-return.ts'
import { months as telemetryMonths } from './start/months.ts'
import { trips as firstTrips, listening, size as releaseSize, rest } from './start/start.ts'
import { drain } from './sync/drain.ts'
import { lag } from './sync/lag.ts'
import { sites } from './sync/sites.ts'

/** Scenarios of one topic. */
export interface Benchmark {
  readonly name: string
  readonly summary: string
  /** Describes the rounds on its command line. */
  readonly rounds: string
  readonly scenarios: readonly Scenario[]
}

export const BENCHMARKS: readonly Benchmark[] = [
  {
    name: 'ingest',
    summary: 'from the device to the disk: latency, throughput, loss, memory',
    rounds: 'rounds of saturation, number of kills',
    scenarios: [steady, saturation, fewClients, peers, kill, memory],
  },
  {
    name: 'broker',
    summary: 'many clients: memory, reconnect storms, noisy clients, hours of work',
    rounds: 'storms of each kind, pairs of measurements alone and disturbed',
    scenarios: [idle, storm, brokerNeighbours, soak],
  },
  {
    name: 'api',
    summary: 'HTTP: requests a second, counts and downloads of a long history',
    rounds: 'runs of each kind, alternating',
    scenarios: [requests, counts, downloads],
  },
  {
    name: 'history',
    summary: 'long histories: bytes on the disk, trips, sealing',
    rounds: 'runs of each measurement',
    scenarios: [historySize, tripsOne, tripsFleet, active, historyNeighbours, sealing],
  },
  {
    name: 'blocks',
    summary: 'telemetry blocks: bytes, encoding, decoding',
    rounds: 'rounds of every measurement',
    scenarios: [blockCodec],
  },
  {
    name: 'reports',
    summary: 'reports of a course of 200 carts: traffic, silences, utilisation, batteries',
    rounds: 'runs of each report',
    scenarios: [reportMaps, reportMonths, reportNeighbours],
  },
  // careless or hostile clients, a row for each kind that the audit found, and their cost for all others
  {
    name: 'neighbours',
    summary: 'one careless or hostile client, and its effect on all others',
    rounds: 'runs of each row',
    scenarios: [...gatewayRows, ...hubRows],
  },
  {
    name: 'realtime',
    summary: 'many readers of /realtime: delivery, CPU, effect on devices',
    rounds: 'not used',
    scenarios: [everySocket, namedSockets],
  },
  {
    name: 'disk',
    summary: 'bytes written to the disk, and life of an SD card',
    rounds: 'without effect',
    scenarios: [bareDisk, wholeDisk],
  },
  {
    name: 'backup',
    summary: 'a backup while devices publish: PUBACK, and its restore',
    rounds: 'backups',
    scenarios: [firstBackup],
  },
  {
    name: 'sync',
    summary: 'replication to a hub: lag, drain, bytes, many sites',
    rounds: 'drains',
    scenarios: [lag, drain, sites],
  },
  {
    name: 'staff',
    summary: 'carts, locks, alerts: cost and latency',
    rounds: 'runs of each',
    scenarios: [heartbeat, staffIngest, list, orders, rounds, tablets, alerts],
  },
  // Each uses one Chromium without a GPU and its own gateway, with carts that report once a second. Times of the main
  // thread are CPU times as Chromium reports them; frames compare within a machine only.
  {
    name: 'dashboard',
    summary: 'the app in Chromium: bytes, CPU, frames, memory, connection',
    rounds: 'runs of each',
    scenarios: [firstLoad, load, slow, zones, pageMemory, line, day],
  },
  {
    name: 'start',
    summary: 'a gateway with a year on the disk: start, memory, idle load',
    rounds: 'starts of each kind',
    scenarios: [listening, rest, firstTrips, telemetryMonths, releaseSize],
  },
]

/** The benchmarks as topics of the documents. */
export const BENCH_TOPICS: readonly Topic[] = BENCHMARKS.map(({ name, scenarios }) => ({
  command: `bench ${name}`,
  scenarios,
}))

/** Scenarios of a topic. */
export function scenariosOf(topic: string): readonly Scenario[] {
  return BENCHMARKS.find(({ name }) => name === topic)?.scenarios ?? []
}
