import WebSocket from 'ws'
import { answerCalls } from '#scripts/rig/calls.ts'
import { waitUntil } from '#scripts/rig/wait-until.ts'
import type { ServerMessage } from '#shared/wire/realtime.ts'

/** Process of tablets: browsers of one user that are signed in, and reconnect when they are cut off. */

const AGAIN_MS = 100

/** Browser with a session. */
interface Tablet {
  readonly headers: { cookie: string; origin: string }
  socket: WebSocket | null
  /** Time of its last snapshot in ms since 1970, and the number of carts in it; null while cut off. */
  live: { atMs: number; carts: number } | null
  /** Time from the opening of each alert to its arrival, by the alert's id. */
  readonly alertsMs: Map<string, number>
}

const tablets: Tablet[] = []
let isStopped = false

async function signIn(plan: { port: number; apiKey: string; tablets: number }): Promise<void> {
  const origin = `http://127.0.0.1:${plan.port}`
  for (let i = 1; i <= plan.tablets; i++) {
    const response = await fetch(`${origin}/sessions`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ api_key: plan.apiKey, name: `Tablet ${i}` }),
    })
    if (response.status !== 201) throw new Error(`POST /sessions: ${response.status}`)
    const cookie = response.headers.get('set-cookie')?.split(';', 1)[0] ?? ''
    tablets.push({ headers: { cookie, origin }, socket: null, live: null, alertsMs: new Map() })
  }
  for (const tablet of tablets) connect(tablet)
}

/** Connects a tablet, again whenever it is cut off; each time it requests a snapshot of everything. */
function connect(tablet: Tablet): void {
  const { headers } = tablet
  const socket = new WebSocket(`${headers.origin.replace('http', 'ws')}/realtime`, { headers })
  tablet.socket = socket
  const subscription = { type: 'subscribe', id: 'all', hardwareIds: ['*'], snapshot: true }
  socket.on('open', () => socket.send(JSON.stringify(subscription)))
  socket.on('message', (bytes) => receive(tablet, bytes.toString()))
  // a close follows
  socket.on('error', () => undefined)
  socket.on('close', () => {
    tablet.live = null
    if (!isStopped) setTimeout(() => connect(tablet), AGAIN_MS)
  })
}

function receive(tablet: Tablet, text: string): void {
  const atMs = Date.now()
  if (text.startsWith('{"type":"device_')) return
  // the gateway sends nothing else
  const message = JSON.parse(text) as ServerMessage
  if (message.type === 'snapshot') tablet.live = { atMs, carts: message.carts.length }
  if (message.type === 'alert' && message.event === 'opened')
    tablet.alertsMs.set(message.alert.alert_id, atMs - Date.parse(message.alert.opened_at))
}

/** Time at which the last tablet had a snapshot of that many carts; null if not all did within the limit. */
async function allLiveAtMs(carts: number, limitMs: number): Promise<number | null> {
  const areLive = () => tablets.every(({ live }) => live !== null && live.carts >= carts)
  if (!(await waitUntil(areLive, limitMs, 5))) return null
  return Math.max(...tablets.map(({ live }) => live?.atMs ?? 0))
}

/** Longest time from an alert's opening to a tablet, once each tablet received that many; otherwise null. */
async function slowestAlertMs(count: number, limitMs: number): Promise<number | null> {
  const haveAll = () => tablets.every(({ alertsMs }) => alertsMs.size >= count)
  if (!(await waitUntil(haveAll, limitMs, 5))) return null
  return Math.max(...tablets.flatMap(({ alertsMs }) => [...alertsMs.values()]))
}

const functions = answerCalls({
  signIn,
  allLiveAtMs,
  slowestAlertMs,
  forgetAlerts: () => {
    for (const { alertsMs } of tablets) alertsMs.clear()
  },
  countCutOff: () => tablets.filter(({ live }) => live === null).length,
  stop: () => {
    isStopped = true
    for (const { socket } of tablets) socket?.terminate()
  },
})

export type TabletFunctions = typeof functions
