import { setTimeout as sleep } from 'node:timers/promises'
import { runsContent, SiteClient } from '#hub/testing/site-client.ts'
import { answerCalls } from '#scripts/rig/calls.ts'
import type { LatencySummary } from '#scripts/rig/latency.ts'
import { probe } from './probe.ts'

/** Process of a site whose gateway works as usual, and of a monitor that polls the health of the hub. */

const PUSH_GAP_MS = 100
const HEALTH_GAP_MS = 50
const RECORDS = 20
/** Time limit for a hub to finish what it received. */
const AFTERWARDS_MS = 60_000
const AGAIN_MS = 250

/** Waiting times and losses of the regular clients. */
export interface HubRegularsResult {
  push: LatencySummary
  health: LatencySummary
  /** Rows the hub has acknowledged and no longer has. */
  rowsLost: number
}

let url = ''
let site: SiteClient | undefined
let end: AbortSignal | null = null
let atMs = Date.now()
let measured: Omit<HubRegularsResult, 'rowsLost'> | undefined

/** Introduces the site to the hub. */
async function gather(hubUrl: string, siteId: string, key: string): Promise<void> {
  url = hubUrl
  end = null
  site = new SiteClient((path, init) => fetch(url + path, { ...init, signal: end }), siteId, key)
  const { status } = await site.hello()
  if (status !== 200) throw new Error(`hello: ${status}`)
}

async function measure(durationS: number): Promise<void> {
  const [push, health] = await Promise.all([
    probe(durationS, PUSH_GAP_MS, async (signal) => {
      end = signal
      atMs += RECORDS
      await pushOnce(gathered(), atMs)
    }),
    probe(durationS, HEALTH_GAP_MS, async (signal) => {
      await (await fetch(`${url}/health`, { signal })).arrayBuffer()
    }),
  ])
  measured = { push, health }
}

/** Returns the results, once no other client loads the hub. */
async function finish(): Promise<HubRegularsResult> {
  const client = gathered()
  const acknowledged = client.cursors.telemetry.seq
  end = AbortSignal.timeout(AFTERWARDS_MS)
  let answer = await client.hello()
  while (answer.status !== 200) {
    await sleep(AGAIN_MS)
    answer = await client.hello()
  }
  if (measured === undefined) throw new Error('nothing was measured')
  return { ...measured, rowsLost: Math.max(0, acknowledged - client.cursors.telemetry.seq) }
}

function gathered(): SiteClient {
  if (site === undefined) throw new Error('the site is not connected')
  return site
}

async function pushOnce(client: SiteClient, atMs: number): Promise<void> {
  const column = () => new Int32Array(RECORDS)
  const records = {
    atMs: Float64Array.from({ length: RECORDS }, (_, i) => atMs + i),
    latE7: column(),
    longE7: column(),
    speedMilliKmh: column(),
  }
  const content = runsContent([{ hardwareId: 'regular-1', stream: 'gps', records }])
  const answer = await client.push(client.part('telemetry', content))
  // the push was accepted, and its response was lost
  if (answer.status === 409) await client.hello()
  if (answer.status !== 200) throw new Error(`push: ${answer.status}`)
}

const functions = answerCalls({ gather, measure, finish })

export type HubRegularsFunctions = typeof functions
