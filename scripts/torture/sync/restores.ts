import { setTimeout as sleep } from 'node:timers/promises'
import { none } from '#scripts/rig/figures.ts'
import { printProgress } from '#scripts/rig/report.ts'
import { byFigure } from '#scripts/rig/rounds.ts'
import { DAY_MS, HOUR_MS } from '#shared/time.ts'
import type { SyncStatusJson } from '#shared/wire/sync-status.ts'
import { ordeal, printFaults } from '../scenario.ts'
import { TorturedHub } from './hub.ts'
import { resentOf, untilStatus } from './status.ts'
import { Story } from './story.ts'
import { StoryGateway } from './story-gateway.ts'

const DEVICES = 200
const SHORT_DEVICES = 20
const SITE = 'restored'
const WARM_MS = 3_000
const LIVE_MS = 20_000
const SHORT_LIVE_MS = 3_000
const IN_SYNC_LIMIT_MS = 120_000
const CAUGHT_UP_LIMIT_MS = 600_000
const POLL_MS = 100
/** Time limit until the gateway compares; if the comparison has ended already, both are restarted anyway. */
const COMPARING_LIMIT_MS = 20_000

/** Ages of the restored copy: records of the time in between follow its creation. */
const AGES = [
  { name: '20 seconds', spanMs: 0, stepMs: 1 },
  { name: 'an hour', spanMs: HOUR_MS, stepMs: 20_000 },
  { name: 'a day', spanMs: DAY_MS, stepMs: 240_000 },
] as const
type Age = (typeof AGES)[number]

/** Restores the database of a hub while all devices of a course are at work. */
export const restores = ordeal({
  name: 'restores',
  summary: 'a hub restored to copies of 20 seconds to a day ago while 200 devices are at work, with restarts',
  cycles: [20, 1],
  figures: {
    restores: { what: 'restores of a hub' },
    problems: none('differences, and completeness reported too early'),
    lost: { what: 'rows that the hub lost', by: 'sum' },
    resent: { what: 'rows that the gateway sent again', by: 'sum' },
    caughtUp: { what: 'from the restore until both sides are equal', unit: ' s', digits: 1 },
  },
  async run(context) {
    const { isShort, cycles } = context
    const hub = await TorturedHub.create(context.bench, { database: 'PostgreSQL' })
    const all: Awaited<ReturnType<typeof restoreOnce>>[] = []
    try {
      const key = await hub.addSite(SITE)
      await hub.start()
      const devices = isShort ? SHORT_DEVICES : DEVICES
      const gateway = await StoryGateway.start(context, hub, SITE, key, devices)
      for (let run = 0; run < cycles; run++) {
        const age = AGES[(isShort ? 1 : run) % AGES.length] ?? AGES[0]
        const liveMs = isShort ? SHORT_LIVE_MS : LIVE_MS
        const restore = await restoreOnce(hub, gateway, { age, liveMs, restarts: run % 2 === 1 })
        all.push(restore)
        const { lost, resent, caughtUp } = restore
        const rows = `${lost} rows lost, ${resent} sent again`
        printProgress(`  ${run + 1}: a copy of ${age.name} ago: ${rows}, caught up after ${caughtUp.toFixed(1)} s`)
      }
      await gateway.close()
    } finally {
      await hub.stop()
    }
    return { restores: all.length, ...byFigure(all) }
  },
})

/** Restores the hub once, and waits until both sides are equal. */
async function restoreOnce(
  hub: TorturedHub,
  gateway: StoryGateway,
  { age, liveMs, restarts }: { age: Age; liveMs: number; restarts: boolean },
) {
  const story = new Story(hub)
  await gateway.work()
  await sleep(WARM_MS)
  const putBack = await hub.keepBackup()
  if (age.spanMs > 0) await gateway.traffic.addHistory(age.spanMs, age.stepMs)
  await sleep(liveMs)
  const before = await untilStatus(gateway.client, isAllThere, IN_SYNC_LIMIT_MS)
  story.require(isAllThere(before), `not in sync before: ${before.explanation}`)
  const had = await countRows(hub)
  await putBack()
  const startedAtMs = performance.now()
  // rows that the hub had before and lacks now
  const lost = had - (await countRows(hub))
  if (restarts) await restartBoth(hub, gateway)
  const status = await untilCaughtUp(hub, gateway, story)
  const caughtUp = (performance.now() - startedAtMs) / 1000
  await gateway.traffic.pause()
  await gateway.quiet()
  await story.judge(gateway, 1)
  printFaults(story.problems)
  return { lost, resent: resentOf(status), caughtUp, problems: story.problems.length }
}

/** Restarts both sides while they compare. */
async function restartBoth(hub: TorturedHub, gateway: StoryGateway): Promise<void> {
  await untilStatus(gateway.client, ({ state }) => state === 'comparing', COMPARING_LIMIT_MS)
  await gateway.stop()
  await gateway.startAgain()
  await sleep(WARM_MS)
  for (const process of hub.processes) {
    await process.end('SIGKILL')
    await process.start()
  }
}

/** Polls until both sides report everything as there; neither may before the gateway's comparison of all has ended. */
async function untilCaughtUp(hub: TorturedHub, gateway: StoryGateway, story: Story): Promise<SyncStatusJson> {
  const restoredAtMs = Date.now()
  const giveUpAtMs = performance.now() + CAUGHT_UP_LIMIT_MS
  const early = new Map<string, string>()
  let status: SyncStatusJson
  let isOver = false
  do {
    await sleep(POLL_MS)
    // the site first: the gateway's later status must confirm it
    const site = await hub.site(SITE).catch((error: unknown) => {
      // the hub closed the connection while it was idle
      if (error instanceof TypeError) return undefined
      throw error
    })
    status = await gateway.client.call('GET /sync/status')
    const isCompared = hasComparedSince(status, restoredAtMs)
    if (site === undefined) continue
    if (!isCompared && /all data is here/.test(site.explanation)) early.set('the hub', site.explanation)
    if (!isCompared && isAllThere(status)) early.set('the gateway', contactOf(status, restoredAtMs))
    isOver = isCompared && isAllThere(status) && site.unconfirmed_rows === 0
  } while (!isOver && performance.now() < giveUpAtMs)
  for (const [who, detail] of early) story.require(false, `${who} reports completeness too early (${detail})`)
  story.require(isOver, `not caught up: ${status.explanation}`)
  return status
}

/** Describes the gateway's last contact with the hub: it cannot know of the restore before. */
function contactOf({ details, explanation }: SyncStatusJson, restoredAtMs: number): string {
  const contactAtMs = Date.parse(details?.last_contact_at ?? '')
  return `last contact ${contactAtMs - restoredAtMs} ms after the restore: ${explanation}`
}

function isAllThere({ state }: SyncStatusJson): boolean {
  return state === 'in_sync'
}

function hasComparedSince({ details }: SyncStatusJson, sinceMs: number): boolean {
  const last = details?.audit.last
  if (last === null || last === undefined || !last.is_everything) return false
  const isConfirmed = last.counts.every(({ rows, confirmed }) => rows === confirmed)
  return Date.parse(last.ended_at) >= sinceMs && details?.audit.unconfirmed_rows === 0 && isConfirmed
}

/** Records and events at the hub. */
async function countRows(hub: TorturedHub): Promise<number> {
  const row = await hub.read((sql) =>
    sql.get<{ rows: number }>(
      `SELECT CAST((SELECT COALESCE(SUM(record_count), 0) FROM telemetry_block WHERE site_id = $1)
            + (SELECT COALESCE(SUM(row_count), 0) FROM segment WHERE site_id = $1)
            + (SELECT COUNT(*) FROM event WHERE site_id = $1) AS BIGINT) AS rows`,
      [SITE],
    ),
  )
  return Number(row?.rows ?? 0)
}
