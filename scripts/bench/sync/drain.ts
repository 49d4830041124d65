import type { GatewayProcess } from '#scripts/rig/gateway-process.ts'
import { compareP99, countLost, type LoadPair, PUBACK_COLUMNS, pubackCells } from '#scripts/rig/load/beside.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import {
  atLeast,
  atMost,
  below,
  formatCount,
  median,
  noneOf,
  printProgress,
  printTable,
  type ScenarioReport,
} from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { mustReach } from '#scripts/rig/wait-until.ts'
import { FilledFolder } from '../history/fill.ts'
import { recordFleet, samplesOfTracks } from '../history/history-parts.ts'
import { bytesSent, SITE, SyncEnvironment } from './environment.ts'

const DEVICES = 200
const SHORT_DEVICES = 10
const DAYS = 10
const SHORT_DAYS = 1
const ROUNDS = 3
const ALONE_S = 20
const SHORT_ALONE_S = 3
const TARGET_MAP_S = 5
const TARGET_ROWS_PER_S = 50_000
const TARGET_RATIO = 1.5
const TARGET_WIRE_BYTES = 7.5
const TARGET_HUB_BYTES = 15
const DRAIN_LIMIT_MS = 600_000
/** Poll interval; each poll is a query of the database that is measured. */
const POLL_MS = 50
/** An address without a listener. */
const NOWHERE = 'http://127.0.0.1:9'

interface Round extends LoadPair {
  mapS: number
  drainS: number
  rows: number
  wireBytes: number
  hubBytes: number
}

/** Measures ten days of a course, never replicated, once the link is up: the map first, then all the rest. */
export async function runDrain(context: ScenarioContext): Promise<ScenarioReport> {
  const { isShort } = context
  const folder = await FilledFolder.create(context, 'drain')
  const devices = await folder.register(isShort ? SHORT_DEVICES : DEVICES, 'bench')
  const tracks = recordFleet(isShort ? SHORT_DAYS : DAYS)
  const filled = await folder.fill(samplesOfTracks(folder.deviceIds('bench'), tracks))
  const rounds: Round[] = []
  for (let round = 0; round < (context.rounds ?? (isShort ? 1 : ROUNDS)); round++) {
    rounds.push(await drainOnce(context, folder, devices, filled))
    printProgress(`  drained in ${rounds.at(-1)?.drainS.toFixed(1)} s`)
  }
  const perS = (round: Round) => round.rows / round.drainS
  printTable(
    `Drain: ${formatCount(filled)} positions of ${devices.length} devices, PostgreSQL, gateway and hub on one machine`,
    ['round', 'map s', 's', 'rows', 'rows/s', 'wire B/row', 'hub B/row', ...PUBACK_COLUMNS],
    rounds.map((round, i) => [
      String(i + 1),
      round.mapS.toFixed(2),
      round.drainS.toFixed(1),
      formatCount(round.rows),
      formatCount(perS(round)),
      (round.wireBytes / round.rows).toFixed(2),
      (round.hubBytes / round.rows).toFixed(2),
      ...pubackCells([round]),
    ]),
  )
  const of = (pick: (round: Round) => number) => median(rounds.map(pick))
  const { ratio, detail } = compareP99(rounds)
  const isJudged = !isShort
  const bytesARow = (pick: (round: Round) => number) => of((round) => pick(round) / round.rows)
  const [wireBytes, hubBytes] = [bytesARow((round) => round.wireBytes), bytesARow((round) => round.hubBytes)]
  return {
    figures: [
      below(
        'drain: from the first request to the whole map at the hub',
        of((round) => round.mapS),
        TARGET_MAP_S,
        { unit: ' s', digits: 2 },
      ),
      atLeast('drain: rows a second', of(perS), TARGET_ROWS_PER_S, { isJudged }),
      atMost('drain: PUBACK p99 disturbed : alone', ratio, TARGET_RATIO, { digits: 2, detail, isJudged }),
      atMost('drain: bytes a row on the wire', wireBytes, TARGET_WIRE_BYTES, { digits: 2, isJudged }),
      atMost('drain: bytes a row in PostgreSQL, all tables and indexes', hubBytes, TARGET_HUB_BYTES, {
        digits: 2,
        isJudged,
      }),
      noneOf('drain: not acknowledged to devices', countLost(rounds.map(({ beside }) => beside))),
    ],
    raw: { filled, rounds },
  }
}

/** Drains a copy of the folder into a new hub, to which the whole history is new. */
async function drainOnce(
  context: ScenarioContext,
  folder: FilledFolder,
  devices: { hardwareId: string; password: string }[],
  filled: number,
): Promise<Round> {
  const { bench, isShort } = context
  const copy = folder.copy()
  const environment = await SyncEnvironment.create(context)
  const emptyBytes = await environment.databaseBytes()
  const load = (gateway: GatewayProcess, durationS: number | null) =>
    startDeviceLoad(bench, gateway, devices, 1, { warmupS: isShort ? 0 : 2, durationS })
  const offline = await copy.start({ ...environment.env, CARTBARN_UPSTREAM_URL: NOWHERE })
  const alone = await load(offline, isShort ? SHORT_ALONE_S : ALONE_S).result()
  await offline.process.stop()

  const gateway = await copy.start(environment.env)
  const besideLoad = load(gateway, null)
  const hello = () => environment.number('SELECT last_hello_ms FROM site WHERE site_id = $1', [SITE])
  await until(async () => (await hello()) > 0)
  const helloMs = await hello()
  const onMap = () => environment.number('SELECT count(*) FROM site_latest WHERE site_id = $1', [SITE])
  await until(async () => (await onMap()) >= devices.length)
  const mapMs = Date.now()
  await besideLoad.measuring()
  await until(async () => (await environment.rowsTaken()) >= filled)
  const doneMs = Date.now()
  besideLoad.stop()
  const beside = await besideLoad.result()
  const { data: wireBytes } = await bytesSent(gateway)
  const rows = await environment.rowsTaken()
  const hubBytes = (await environment.databaseBytes()) - emptyBytes
  await gateway.process.stop()
  await environment.stop()
  return {
    alone,
    beside,
    rows,
    wireBytes,
    hubBytes,
    mapS: (mapMs - helloMs) / 1000,
    drainS: (doneMs - helloMs) / 1000,
  }
}

function until(isTrue: () => Promise<boolean>): Promise<void> {
  return mustReach(isTrue, DRAIN_LIMIT_MS, 'the backlog is not drained', POLL_MS)
}
