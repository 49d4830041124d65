import WebSocket from 'ws'
import { z } from 'zod'
import { answerCalls } from '#scripts/rig/calls.ts'
import { waitUntil } from '#scripts/rig/wait-until.ts'

/** Process of tablets: browsers of one user that are signed in, and reconnect when they are cut off. */

/** Addresses and credentials of the tablets. */
export interface TabletsPlan {
  port: number
  apiKey: string
  tablets: number
}

const AGAIN_MS = 100
const messageSchema = z.looseObject({ type: z.string(), event: z.string().optional() })
const snapshotSchema = z.looseObject({ carts: z.array(z.unknown()) })

/** Browser with a session; requests a snapshot of everything each time it connects. */
class Tablet {
  /** Time of its last snapshot in ms since 1970, and the number of carts in it; null while cut off. */
  live: { atMs: number; carts: number } | null = null
  /** Times at which each alert was opened and received, by the alert's id. */
  readonly alertsAtMs = new Map<string, { openedAtMs: number; receivedAtMs: number }>()
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
    socket.on('message', (bytes) => this.#receive(bytes.toString()))
    // a close follows
    socket.on('error', () => undefined)
    socket.on('close', () => {
      this.live = null
      if (this.#isWanted) setTimeout(() => this.#connect(), AGAIN_MS)
    })
  }

  #receive(text: string): void {
    const receivedAtMs = Date.now()
    if (text.startsWith('{"type":"device_')) return
    const message = messageSchema.parse(JSON.parse(text))
    if (message.type === 'snapshot') {
      this.live = { atMs: receivedAtMs, carts: snapshotSchema.parse(message).carts.length }
    } else if (message.type === 'alert' && message.event === 'opened') {
      const { alert } = openedSchema.parse(message)
      this.alertsAtMs.set(alert.alert_id, { openedAtMs: Date.parse(alert.opened_at), receivedAtMs })
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

/** Time at which the last tablet had a snapshot of that many carts; null if not all did within the limit. */
async function allLiveAtMs(carts: number, limitMs: number): Promise<number | null> {
  const isLive = () => tablets.every(({ live }) => live !== null && live.carts >= carts)
  if (!(await waitUntil(isLive, limitMs, 5))) return null
  return Math.max(...tablets.map(({ live }) => live?.atMs ?? 0))
}

function forgetAlerts(): void {
  for (const { alertsAtMs } of tablets) alertsAtMs.clear()
}

/** Longest time from an alert's opening to a tablet, once each tablet received that many; otherwise null. */
async function slowestAlertMs(count: number, limitMs: number): Promise<number | null> {
  const isComplete = () => tablets.every(({ alertsAtMs }) => alertsAtMs.size >= count)
  if (!(await waitUntil(isComplete, limitMs, 5))) return null
  return Math.max(
    ...tablets.flatMap(({ alertsAtMs }) =>
      [...alertsAtMs.values()].map(({ openedAtMs, receivedAtMs }) => receivedAtMs - openedAtMs),
    ),
  )
}

const functions = answerCalls({
  signIn,
  allLiveAtMs,
  forgetAlerts,
  slowestAlertMs,
  countCutOff: () => tablets.filter(({ live }) => live === null).length,
  stop: () => {
    for (const tablet of tablets) tablet.stop()
  },
})

export type TabletFunctions = typeof functions
