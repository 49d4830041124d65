import WebSocket from 'ws'
import { z } from 'zod'
import { answerCalls } from '#scripts/rig/calls.ts'
import { waitUntil } from '#scripts/rig/wait-until.ts'

/** The process of tablets: browsers of one user that are signed in, and connect again when they are cut off. */

/** What the tablets need to sign in and to come back. */
export interface TabletsPlan {
  port: number
  apiKey: string
  tablets: number
}

const AGAIN_MS = 100
const messageSchema = z.looseObject({ type: z.string(), event: z.string().optional() })
const snapshotSchema = z.looseObject({ carts: z.array(z.unknown()) })

/** A browser with a session; it wants a snapshot of everything, each time it connects. */
class Tablet {
  /** When (milliseconds since 1970) it got its last snapshot, and of how many carts; null since it was cut off. */
  live: { atMs: number; carts: number } | null = null
  /** When it heard of each opened alert, by its id. */
  readonly alertsAtMs = new Map<string, { openedAtMs: number; heardAtMs: number }>()
  readonly #origin: string
  readonly #cookie: string
  #socket: WebSocket | undefined
  #isWanted = true

  constructor(port: number, cookie: string) {
    this.#origin = `http://127.0.0.1:${port}`
    this.#cookie = cookie
    this.#connect()
  }

  stop(): void {
    this.#isWanted = false
    this.#socket?.terminate()
  }

  #connect(): void {
    const headers = { cookie: this.#cookie, origin: this.#origin }
    const socket = new WebSocket(`${this.#origin.replace('http', 'ws')}/realtime`, { headers })
    this.#socket = socket
    socket.on('open', () =>
      socket.send(JSON.stringify({ type: 'subscribe', id: 'all', hardwareIds: ['*'], snapshot: true })),
    )
    socket.on('message', (bytes) => this.#hear(bytes.toString()))
    // a close follows
    socket.on('error', () => undefined)
    socket.on('close', () => {
      this.live = null
      if (this.#isWanted) setTimeout(() => this.#connect(), AGAIN_MS)
    })
  }

  #hear(text: string): void {
    const heardAtMs = Date.now()
    if (text.startsWith('{"type":"device_')) return
    const message = messageSchema.parse(JSON.parse(text))
    if (message.type === 'snapshot') {
      this.live = { atMs: heardAtMs, carts: snapshotSchema.parse(message).carts.length }
    } else if (message.type === 'alert' && message.event === 'opened') {
      const { alert } = openedSchema.parse(message)
      this.alertsAtMs.set(alert.alert_id, { openedAtMs: Date.parse(alert.opened_at), heardAtMs })
    }
  }
}

const openedSchema = z.looseObject({ alert: z.looseObject({ alert_id: z.string(), opened_at: z.string() }) })

let tablets: Tablet[] = []

async function signIn({ port, apiKey, tablets: count }: TabletsPlan): Promise<void> {
  const cookies: string[] = []
  for (let i = 0; i < count; i++) {
    const response = await fetch(`http://127.0.0.1:${port}/sessions`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ api_key: apiKey, name: `Tablet ${i + 1}` }),
    })
    if (response.status !== 201) throw new Error(`POST /sessions: ${response.status}`)
    cookies.push(response.headers.get('set-cookie')?.split(';', 1)[0] ?? '')
  }
  tablets = cookies.map((cookie) => new Tablet(port, cookie))
}

/** When the last tablet was live with so many carts; null when not all were in that time. */
async function allLiveAtMs(carts: number, limitMs: number): Promise<number | null> {
  const isLive = () => tablets.every(({ live }) => live !== null && live.carts >= carts)
  if (!(await waitUntil(isLive, limitMs, 5))) return null
  return Math.max(...tablets.map(({ live }) => live?.atMs ?? 0))
}

/** Forgets the alerts it heard of so far. */
function forgetAlerts(): void {
  for (const { alertsAtMs } of tablets) alertsAtMs.clear()
}

/**
 * The longest from when an alert was opened until a tablet heard of it, once each tablet heard of so many; else null.
 */
async function slowestAlertMs(count: number, limitMs: number): Promise<number | null> {
  const isComplete = () => tablets.every(({ alertsAtMs }) => alertsAtMs.size >= count)
  if (!(await waitUntil(isComplete, limitMs, 5))) return null
  return Math.max(
    ...tablets.flatMap(({ alertsAtMs }) =>
      [...alertsAtMs.values()].map(({ openedAtMs, heardAtMs }) => heardAtMs - openedAtMs),
    ),
  )
}

const functions = answerCalls({
  signIn,
  allLiveAtMs,
  forgetAlerts,
  slowestAlertMs,
  /** How many are cut off now. */
  countCutOff: () => tablets.filter(({ live }) => live === null).length,
  stop: () => {
    for (const tablet of tablets) tablet.stop()
  },
})

/** What the tablets do when their parent asks. */
export type TabletFunctions = typeof functions
