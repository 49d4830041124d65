import { runsContent, SiteClient } from '#hub/testing/site-client.ts'
import { answerCalls } from '#scripts/rig/calls.ts'
import type { LatencySummary } from '#scripts/rig/latency.ts'
import { probe } from './probe.ts'

/** The process of a site whose gateway does its work, and of who watches the health of the hub. */

const PUSH_GAP_MS = 100
const HEALTH_GAP_MS = 50
const RECORDS = 20

/** What they had to wait. */
export interface HubRegularsResult {
  push: LatencySummary
  health: LatencySummary
  /** Rows the hub has acknowledged and no longer has. */
  rowsLost: number
}

async function work(
  url: string,
  site: { siteId: string; key: string },
  durationS: number,
): Promise<HubRegularsResult> {
  let end: AbortSignal | null = null
  const client = new SiteClient(
    (path, init) => fetch(url + path, { ...init, signal: end }),
    site.siteId,
    site.key,
  )
  let atMs = Date.now()
  let isKnown = false
  const pushOnce = async (signal: AbortSignal) => {
    end = signal
    atMs += RECORDS
    if (!isKnown) isKnown = await sayHello(client)
    await push(client, atMs)
  }
  const [pushes, health] = await Promise.all([
    probe(durationS, PUSH_GAP_MS, pushOnce),
    probe(durationS, HEALTH_GAP_MS, async (signal) => {
      await (await fetch(`${url}/health`, { signal })).arrayBuffer()
    }),
  ])
  end = null
  const acknowledged = client.cursors.telemetry.seq
  // as long as the neighbour keeps it away, the hub cannot be asked
  const rowsLost = (await sayHello(client)) ? Math.max(0, acknowledged - client.cursors.telemetry.seq) : 0
  return { push: pushes, health, rowsLost }
}

async function sayHello(client: SiteClient): Promise<boolean> {
  return (await client.hello()).status === 200
}

async function push(client: SiteClient, atMs: number): Promise<void> {
  const column = () => new Int32Array(RECORDS)
  const records = {
    atMs: Float64Array.from({ length: RECORDS }, (_, i) => atMs + i),
    ...{ latE7: column(), longE7: column(), speedMilliKmh: column() },
  }
  const content = runsContent([{ hardwareId: 'regular-1', stream: 'gps', records }])
  const answer = await client.push(client.part('telemetry', content))
  // it was taken, and the answer to it was lost
  if (answer.status === 409) await client.hello()
  if (answer.status !== 200) throw new Error(`push: ${answer.status}`)
}

const functions = answerCalls({ work })

/** What the regulars of a hub do when their parent asks. */
export type HubRegularsFunctions = typeof functions
