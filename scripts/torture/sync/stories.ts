import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { HUB_ADMIN_KEY } from '#scripts/rig/hub-process.ts'
import type { TortureContext } from '../scenario.ts'
import { TorturedHub } from './hub.ts'
import { judgeSync } from './judge.ts'
import { SmallDisk } from './small-disk.ts'
import { readStatus, type SaidStatus, untilStatus } from './status.ts'
import { StoryGateway } from './story-gateway.ts'

/** Something that goes wrong at a course, and what both sides say of it. */
export interface SyncStory {
  name: string
  /** The statuses of the gateway and the hub, word for word. */
  said: string[]
  problems: string[]
}

const LIVING_MS = 2500
/** The hub takes an older start of a gateway for a late one for a minute. */
const TWINS_MS = 75_000
const STATUS_LIMIT_MS = 20_000
const AUDIT_LIMIT_MS = 60_000
/** Enough for an empty database with its log. */
const DISK_MB = 192
/** Until the log of the database has to grow. */
const FULL_MS = 10_000

/** All stories, on one hub. */
export async function tellStories(context: TortureContext): Promise<SyncStory[]> {
  const hub = await TorturedHub.create(context.bench, { database: 'PostgreSQL' })
  const stories: SyncStory[] = []
  try {
    const sites = ['backup', 'backup-bare', 'office', 'north', 'south', 'twins']
    const keys = new Map<string, string>()
    for (const site of sites) keys.set(site, await hub.addSite(site))
    await hub.start()
    const open = (site: string) => StoryGateway.start(context, hub, site, keys.get(site) ?? '')
    stories.push(await restoreBackup(context, hub, await open('backup'), 'kept'))
    stories.push(await restoreBackup(context, hub, await open('backup-bare'), 'gone'))
    stories.push(await restoreHub(hub, await open('office')))
    stories.push(await swapDisks(hub, await open('north'), await open('south')))
    stories.push(await runTwins(context, hub, await open('twins')))
  } finally {
    await hub.stop()
  }
  const disk = SmallDisk.mount(context.bench, DISK_MB)
  if (disk !== null) stories.push(await fillDisk(context, disk))
  return stories
}

/** The disk of the hub's database is full for a while. */
async function fillDisk(context: TortureContext, disk: SmallDisk): Promise<SyncStory> {
  const story: SyncStory = { name: "the head office's disk is full", said: [], problems: [] }
  const hub = await TorturedHub.create(context.bench, { database: 'PostgreSQL', within: disk.path })
  try {
    const key = await hub.addSite('full')
    await hub.start()
    const gateway = await StoryGateway.start(context, hub, 'full', key)
    await gateway.live(LIVING_MS)
    await gateway.quiet()
    disk.fill()
    await gateway.live(FULL_MS)
    const { state, explanation } = await readStatus(gateway.url)
    story.said.push(`GET /sync/status: ${state}: ${explanation}`)
    if (state !== 'waiting') story.problems.push('nothing was refused')
    disk.empty()
    // a full disk may end PostgreSQL, which an operator would start again
    await hub.killDatabase().catch(() => undefined)
    await hub.restartDatabase()
    await gateway.live(LIVING_MS)
    await gateway.quiet()
    await judge(story, hub, gateway, false)
    await gateway.close()
  } finally {
    await hub.stop()
    disk.unmount()
  }
  return story
}

/** The folder of an earlier time is put back, and devices have gone on sending in between. */
async function restoreBackup(
  { bench }: TortureContext,
  hub: TorturedHub,
  gateway: StoryGateway,
  sideFile: 'kept' | 'gone',
): Promise<SyncStory> {
  const story: SyncStory = {
    name: `a backup is put back, the side file ${sideFile}`,
    said: [],
    problems: [],
  }
  await gateway.live(LIVING_MS)
  // data of after an erasure must outlive that the restored gateway tells of the erasure again
  await gateway.erase()
  await gateway.live(LIVING_MS)
  await gateway.quiet()
  await gateway.stop()
  const backup = bench.createFolder('backup')
  cpSync(gateway.dataDir, backup, { recursive: true })
  await gateway.startAgain()
  await gateway.live(LIVING_MS)
  await gateway.quiet()
  await gateway.stop()
  const newer = join(gateway.dataDir, 'sync.json')
  const kept = join(bench.createFolder('side-file'), 'sync.json')
  cpSync(newer, kept)
  rmSync(gateway.dataDir, { recursive: true })
  cpSync(backup, gateway.dataDir, { recursive: true })
  if (sideFile === 'kept') cpSync(kept, newer)
  else rmSync(newer, { force: true })
  await gateway.startAgain()
  await gateway.live(LIVING_MS)
  await gateway.quiet()
  await hear(story, hub, gateway, /restored from a backup/)
  await judge(story, hub, gateway, true)
  const epochs = await gateway.countEpochs()
  if (epochs !== 2) story.problems.push(`${epochs} epochs instead of 2`)
  await gateway.close()
  return story
}

/** The database of the hub is restored to an earlier time: the gateway must notice, and send the missing data again. */
async function restoreHub(hub: TorturedHub, gateway: StoryGateway): Promise<SyncStory> {
  const story: SyncStory = { name: 'a backup of the head office is put back', said: [], problems: [] }
  await gateway.live(LIVING_MS)
  await gateway.quiet()
  const putBack = await hub.keepBackup()
  await gateway.live(LIVING_MS)
  await gateway.erase()
  await gateway.live(LIVING_MS)
  await gateway.quiet()
  await putBack()
  await gateway.live(LIVING_MS)
  const isAudited = ({ details }: SaidStatus) =>
    details?.audit.state === 'idle' && details.audit.last !== null
  const status = await untilStatus(gateway.url, isAudited, AUDIT_LIMIT_MS)
  const counts = status.details?.audit.last?.counts ?? []
  const resent = counts.reduce((sum, count) => sum + count.resent, 0)
  story.said.push(`GET /sync/status: ${status.state}: ${status.explanation} ${resent} rows were sent again.`)
  if (!isAudited(status)) story.problems.push('nothing was compared')
  if (resent === 0) story.problems.push('nothing was sent again')
  await gateway.quiet()
  await judge(story, hub, gateway, false)
  const epochs = await gateway.countEpochs()
  if (epochs !== 1) story.problems.push(`${epochs} epochs instead of 1`)
  await gateway.close()
  return story
}

/** A gateway gets the disk of another site's. */
async function swapDisks(hub: TorturedHub, north: StoryGateway, south: StoryGateway): Promise<SyncStory> {
  const story: SyncStory = { name: 'the disk of another site', said: [], problems: [] }
  for (const gateway of [north, south]) {
    await gateway.live(LIVING_MS)
    await gateway.quiet()
    await gateway.stop()
  }
  const describe = async () => [await north.describeHub(), await south.describeHub()].join('\n')
  const before = await describe()
  await north.startAgain({ dataDir: south.dataDir })
  const status = await untilStatus(north.url, ({ state }) => state === 'other_site', STATUS_LIMIT_MS)
  story.said.push(`GET /sync/status: ${status.state}: ${status.explanation}`)
  if (status.state !== 'other_site') story.problems.push(`its state is ${status.state}`)
  if (!/south/.test(status.explanation) || !/CARTBARN_SITE_ID/.test(status.explanation))
    story.problems.push('the words do not name the other site and the setting')
  await north.addGroup()
  await sleep(LIVING_MS)
  if ((await describe()) !== before) story.problems.push('something was sent')
  await north.stop()
  for (const gateway of [north, south]) {
    await gateway.startAgain()
    await gateway.live(LIVING_MS)
    await gateway.quiet()
    // changes made meanwhile are on the disk on which they were made
    await judge(story, hub, gateway, false)
    const epochs = await gateway.countEpochs()
    if (epochs !== 1) story.problems.push(`${epochs} epochs of ${gateway.site}`)
    await gateway.close()
  }
  return story
}

/** A disk is copied, and both copies run. */
async function runTwins(
  { bench }: TortureContext,
  hub: TorturedHub,
  first: StoryGateway,
): Promise<SyncStory> {
  const story: SyncStory = { name: 'two gateways of one identity', said: [], problems: [] }
  await first.live(LIVING_MS)
  await first.quiet()
  await first.stop()
  const dataDir = bench.createFolder('twin')
  cpSync(first.dataDir, dataDir, { recursive: true })
  await first.startAgain()
  const second = await first.twin(dataDir)
  await Promise.all([first.live(TWINS_MS), second.live(TWINS_MS)])
  await hear(story, hub, first, /[Tt]wo gateways/)
  await hear(story, hub, second, /[Tt]wo gateways/)
  for (const gateway of [first, second]) await gateway.quiet()
  for (const gateway of [first, second]) await judge(story, hub, gateway, true)
  const epochs = await first.countEpochs()
  if (epochs !== 2) story.problems.push(`${epochs} epochs instead of 2`)
  await second.close()
  await first.close()
  return story
}

/** What both sides say: the gateway or the hub has to say `wanted`, and both something. */
async function hear(
  story: SyncStory,
  hub: TorturedHub,
  gateway: StoryGateway,
  wanted: RegExp,
): Promise<void> {
  const { state, explanation } = await readStatus(gateway.url)
  story.said.push(`GET /sync/status: ${state}: ${explanation}`)
  if (!wanted.test(explanation)) story.problems.push(`the gateway does not say ${wanted}`)
  const response = await fetch(`http://127.0.0.1:${hub.port}/sites/${gateway.site}`, {
    headers: { 'X-API-Key': HUB_ADMIN_KEY },
  })
  if (response.status !== 200) throw new Error(`GET /sites/${gateway.site}: ${response.status}`)
  // held to its schema by the hub's own tests
  const site = (await response.json()) as { state: string; explanation: string }
  story.said.push(`GET /sites/${gateway.site}: ${site.state}: ${site.explanation}`)
  if (!wanted.test(site.explanation)) story.problems.push(`the hub does not say ${wanted}`)
}

async function judge(
  story: SyncStory,
  hub: TorturedHub,
  gateway: StoryGateway,
  isRestored: boolean,
): Promise<void> {
  const findings = await hub.look((sql) => judgeSync(sql, { ...gateway.judged, isRestored }))
  story.said.push(`${findings.looked.records} records, ${findings.looked.events} events at the hub`)
  story.problems.push(...findings.examples)
}
