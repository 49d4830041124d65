import { SiteClient } from '#hub/testing/site-client.ts'
import { answerCalls } from '#scripts/rig/calls.ts'
import { equalPositions } from '#scripts/rig/neighbours/hub-attacks.ts'
import { waitUntil } from '#scripts/rig/wait-until.ts'
import { probe } from './probe.ts'

/** Process of a site whose gateway works as usual, and of a monitor that polls the health of the hub. */

const PUSH_GAP_MS = 100
const HEALTH_GAP_MS = 50
const RECORDS = 20
/** Time limit for a hub to finish what it received. */
const AFTERWARDS_MS = 60_000
const AGAIN_MS = 250

let url = ''
let site: SiteClient
/** Ends requests of the site. */
let end: AbortSignal | null = null
let atMs = Date.now()
let measured = { pushMs: 0, healthMs: 0 }

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
    probe(durationS, PUSH_GAP_MS, pushOnce),
    probe(durationS, HEALTH_GAP_MS, async (signal) => {
      await (await fetch(`${url}/health`, { signal })).arrayBuffer()
    }),
  ])
  measured = { pushMs: push.p99Ms, healthMs: health.p99Ms }
}

async function pushOnce(signal: AbortSignal): Promise<void> {
  end = signal
  atMs += RECORDS
  const { status } = await site.push(site.part('telemetry', equalPositions('regular-1', atMs, RECORDS)))
  // the push was accepted, and its response was lost
  if (status === 409) await site.hello()
  if (status !== 200) throw new Error(`push: ${status}`)
}

/** Returns the results, once no other client loads the hub, with the number of rows that it no longer has. */
async function finish(): Promise<typeof measured & { rowsLost: number }> {
  const acknowledged = site.cursors.telemetry.seq
  end = AbortSignal.timeout(AFTERWARDS_MS)
  await waitUntil(async () => (await site.hello()).status === 200, AFTERWARDS_MS, AGAIN_MS)
  return { ...measured, rowsLost: Math.max(0, acknowledged - site.cursors.telemetry.seq) }
}

const functions = answerCalls({ gather, measure, finish })

export type HubRegularsFunctions = typeof functions
