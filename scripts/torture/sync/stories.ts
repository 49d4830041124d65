import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { none, type Value } from '#scripts/rig/figures.ts'
import { printProgress } from '#scripts/rig/report.ts'
import type { SyncStatusJson } from '#shared/wire/sync-status.ts'
import { SmallDisk } from '../disk/small-disk.ts'
import { notMeasured, printFaults, type TortureContext } from '../scenario.ts'
import { TorturedHub } from './hub.ts'
import { resentOf, untilStatus } from './status.ts'
import { Story } from './story.ts'
import { StoryGateway } from './story-gateway.ts'

const LIVING_MS = 2500
/** Longer than the minute in which the hub treats an older start of a gateway as a late one. */
const TWINS_MS = 75_000
const STATUS_LIMIT_MS = 20_000
const AUDIT_LIMIT_MS = 60_000
/** Enough for an empty database with its log. */
const DISK_MB = 192
/** Time until the log of the database has to grow. */
const FULL_MS = 10_000

/** Problems in stories of a site. */
export const STORIES = {
  backupKept: none('a backup is restored, the side file kept'),
  backupGone: none('a backup is restored, the side file gone'),
  hubBackup: none('a backup of the hub is restored'),
  otherDisk: none('the disk of another site'),
  twins: none('two gateways of one identity'),
  fullDisk: none("the hub's disk is full"),
}

/** Plays all stories, on one hub; the last one only where mounting is permitted. */
export async function runStories(context: TortureContext): Promise<Record<keyof typeof STORIES, Value>> {
  const hub = await TorturedHub.create(context.bench, { database: 'PostgreSQL' })
  const values = notMeasured(STORIES)
  const tell = async (name: keyof typeof STORIES, playing: Promise<Story>) => {
    const { statuses, problems } = await playing
    printProgress(`\n  ${STORIES[name].what}`)
    for (const status of statuses) printProgress(`    ${status}`)
    printFaults(problems.map((problem) => `WRONG: ${problem}`))
    values[name] = problems.length
  }
  try {
    const sites = ['backup', 'backup-bare', 'office', 'north', 'south', 'twins']
    const keys = new Map<string, string>()
    for (const site of sites) keys.set(site, await hub.addSite(site))
    await hub.start()
    const open = (site: string) => StoryGateway.start(context, hub, site, keys.get(site) ?? '')
    await tell('backupKept', restoreBackup(context, hub, await open('backup'), 'kept'))
    await tell('backupGone', restoreBackup(context, hub, await open('backup-bare'), 'gone'))
    await tell('hubBackup', restoreHub(hub, await open('office')))
    await tell('otherDisk', swapDisks(hub, await open('north'), await open('south')))
    await tell('twins', runTwins(context, hub, await open('twins')))
  } finally {
    await hub.stop()
  }
  const disk = SmallDisk.mount(context.bench.createFolder('disk'), DISK_MB)
  if (disk !== null) await tell('fullDisk', fillDisk(context, disk))
  return values
}

/** Fills the disk of the hub's database for a while. */
async function fillDisk(context: TortureContext, disk: SmallDisk): Promise<Story> {
  const hub = await TorturedHub.create(context.bench, { database: 'PostgreSQL', within: disk.path })
  const story = new Story(hub)
  try {
    const key = await hub.addSite('full')
    await hub.start()
    const gateway = await StoryGateway.start(context, hub, 'full', key)
    await gateway.replicate(LIVING_MS)
    disk.fill()
    await gateway.live(FULL_MS)
    const status = await gateway.client.call('GET /sync/status')
    story.note(status)
    story.require(status.state === 'waiting', 'nothing was refused')
    disk.empty()
    // a full disk may end PostgreSQL, which an operator would restart
    await hub.killDatabase().catch(() => undefined)
    await hub.restartDatabase()
    await gateway.replicate(LIVING_MS)
    await story.judge(gateway, 1)
    await gateway.close()
  } finally {
    await hub.stop()
    disk.unmount()
  }
  return story
}

/** Restores an earlier copy of the folder, while devices have continued to send. */
async function restoreBackup(
  { bench }: TortureContext,
  hub: TorturedHub,
  gateway: StoryGateway,
  sideFile: 'kept' | 'gone',
): Promise<Story> {
  const story = new Story(hub)
  await gateway.live(LIVING_MS)
  // data recorded after an erasure must survive that the restored gateway reports the erasure again
  await gateway.traffic.erase()
  await gateway.replicate(LIVING_MS)
  await gateway.stop()
  const backup = bench.createFolder('backup')
  cpSync(gateway.dataDir, backup, { recursive: true })
  await gateway.startAgain()
  await gateway.replicate(LIVING_MS)
  await gateway.stop()
  const newer = join(gateway.dataDir, 'sync.slots')
  const kept = join(bench.createFolder('side-file'), 'sync.slots')
  cpSync(newer, kept)
  rmSync(gateway.dataDir, { recursive: true })
  cpSync(backup, gateway.dataDir, { recursive: true })
  if (sideFile === 'kept') cpSync(kept, newer)
  else rmSync(newer, { force: true })
  await gateway.startAgain()
  await gateway.replicate(LIVING_MS)
  await story.requireStatus(gateway, /restored from a backup/)
  await story.judge(gateway, 2)
  await gateway.close()
  return story
}

/** Restores the hub's database to an earlier time: the gateway must notice, and send the missing data again. */
async function restoreHub(hub: TorturedHub, gateway: StoryGateway): Promise<Story> {
  const story = new Story(hub)
  await gateway.replicate(LIVING_MS)
  const putBack = await hub.keepBackup()
  await gateway.live(LIVING_MS)
  await gateway.traffic.erase()
  await gateway.replicate(LIVING_MS)
  await putBack()
  await gateway.live(LIVING_MS)
  const isAudited = ({ details }: SyncStatusJson) => details?.audit.state === 'idle' && details.audit.last !== null
  const status = await untilStatus(gateway.client, isAudited, AUDIT_LIMIT_MS)
  const resent = resentOf(status)
  story.note(status, ` ${resent} rows were sent again.`)
  story.require(isAudited(status), 'nothing was compared')
  story.require(resent > 0, 'nothing was sent again')
  await gateway.quiet()
  await story.judge(gateway, 1)
  await gateway.close()
  return story
}

/** Gives a gateway the disk of another site's. */
async function swapDisks(hub: TorturedHub, north: StoryGateway, south: StoryGateway): Promise<Story> {
  const story = new Story(hub)
  for (const gateway of [north, south]) {
    await gateway.replicate(LIVING_MS)
    await gateway.stop()
  }
  const describe = async () => [await north.describeHub(), await south.describeHub()].join('\n')
  const before = await describe()
  await north.startAgain({ dataDir: south.dataDir })
  const status = await untilStatus(north.client, ({ state }) => state === 'other_site', STATUS_LIMIT_MS)
  story.note(status)
  story.require(status.state === 'other_site', `its state is ${status.state}`)
  const isNamed = /south/.test(status.explanation) && /CARTBARN_SITE_ID/.test(status.explanation)
  story.require(isNamed, 'the explanation does not name the other site and the setting')
  await north.client.call('POST /groups', { body: { name: 'Late' } })
  await sleep(LIVING_MS)
  story.require((await describe()) === before, 'something was sent')
  await north.stop()
  for (const gateway of [north, south]) {
    await gateway.startAgain()
    await gateway.replicate(LIVING_MS)
    // changes made meanwhile are on the disk on which they were made
    await story.judge(gateway, 1)
    await gateway.close()
  }
  return story
}

/** Copies a disk and runs both copies. */
async function runTwins({ bench }: TortureContext, hub: TorturedHub, first: StoryGateway): Promise<Story> {
  const story = new Story(hub)
  await first.replicate(LIVING_MS)
  await first.stop()
  const dataDir = bench.createFolder('twin')
  cpSync(first.dataDir, dataDir, { recursive: true })
  await first.startAgain()
  const second = await first.copy(dataDir)
  await Promise.all([first.live(TWINS_MS), second.live(TWINS_MS)])
  for (const gateway of [first, second]) await story.requireStatus(gateway, /[Tt]wo gateways/)
  for (const gateway of [first, second]) await gateway.quiet()
  for (const gateway of [first, second]) await story.judge(gateway, 2)
  await second.close()
  await first.close()
  return story
}
