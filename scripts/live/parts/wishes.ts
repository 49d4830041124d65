import type { Bottle, Check, Finding } from '../bottle.ts'
import type { Entry, Wish } from '../plan.ts'
import { openRows } from '../world/gateway-rows.ts'
import type { HubLife } from '../world/hub-life.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
/** Time in which an intent goes to the gateway and its outcome comes back, once they reach each other. */
const KNOWN_MS = 2 * MINUTE_MS

interface Asked {
  readonly number: number
  readonly wish: Wish
  readonly intentId: string
  readonly hardwareId: string
  /** User to disable. */
  readonly userId: string
  readonly issuedMs: number
  readonly expiresMs: number
}

interface Office {
  readonly hub: HubLife
  readonly siteId: string
  readonly isReachable: boolean
  readonly stableMs: number
}

interface Inbox {
  readonly intent_id: string
  readonly status: string
  readonly received_at_ms: number
}

interface Sent {
  readonly command_id: string
  readonly hardware_id: string
  readonly command: 'locate' | 'lock' | 'unlock'
  readonly metadata: string | null
  readonly created_at_ms: number
}

/** Intents of the hub: commands, configurations, and users to disable. */
export class Wishes {
  readonly check: Check
  readonly #bottle: Bottle
  readonly #office: Office
  #count = 0
  #open: Asked[] = []
  /** Time of the first command that counts; older ones were compared. */
  #sinceMs = 0
  /** Newest applied configuration of each device. */
  readonly #configs = new Map<string, number>()

  constructor(bottle: Bottle, office: Office) {
    this.#bottle = bottle
    this.#office = office
    this.check = {
      number: 40,
      claim: 'an intent of the hub has its effect once or not at all, and the hub learns which',
      when: 'look',
      find: () => this.#compare(),
    }
  }

  async setUp(): Promise<void> {
    this.#sinceMs = this.#bottle.time.nowMs
  }

  async ask({ device, wish, expiresS }: Extract<Entry, { kind: 'intent' }>): Promise<void> {
    const { hub, siteId } = this.#office
    const hardwareId = `cart-${device}`
    const number = ++this.#count
    let userId = ''
    if (wish === 'disable') {
      const body = { name: `Temporary ${number}`, role: 'staff', allowed_hardware_ids: ['*'] }
      const made = await this.#bottle.ask('POST', '/users', body)
      if (made?.status !== 201) return
      userId = made.body.user.user_id
    }
    const body =
      wish === 'disable'
        ? { kind: 'user.disable', body: { user_id: userId } }
        : wish === 'config'
          ? { kind: 'config.set', body: { hardware_id: hardwareId, config: { wish: number } } }
          : { kind: 'command.send', body: { hardware_id: hardwareId, command: wish, metadata: { wish: number } } }
    const issuedMs = this.#bottle.time.nowMs
    const answer = await hub.ask('POST', `/sites/${siteId}/intents`, { ...body, expires_in_s: expiresS })
    // a hub that was killed meanwhile may have it
    if (answer === null && wish === 'config') this.#configs.set(hardwareId, number)
    if (answer?.status !== 201) return
    const { intent_id: intentId, expires_at } = answer.body
    this.#open.push({ number, wish, intentId, hardwareId, userId, issuedMs, expiresMs: Date.parse(expires_at) })
  }

  /** Forgets all intents: a restore of the gateway takes back what they did. */
  forget(): void {
    this.#open = []
    this.#sinceMs = this.#bottle.time.nowMs
    this.#configs.clear()
  }

  /** Lists for the other checks which commands are from the hub. */
  sample(): void {
    const { life } = this.#bottle
    if (life.isRunning && !life.disk.isFailing) this.#read()
  }

  #read() {
    const { dataDir, carts, commands, commandIds } = this.#bottle
    const rows = openRows(dataDir)
    const sent = rows.all<Sent>(
      `SELECT command_id, hardware_id, command, metadata, created_at_ms FROM command
        WHERE requested_by = 'head office' AND created_at_ms >= ?`,
      this.#sinceMs,
    )
    const inbox = rows.all<Inbox>('SELECT intent_id, status, received_at_ms FROM intent_inbox')
    const configs = rows.all<{ hardware_id: string; wish: number }>(
      `SELECT hardware_id, config ->> 'wish' AS wish FROM device_config JOIN device USING (device_id)`,
    )
    const users = rows.all<{ user_id: string }>('SELECT user_id FROM user WHERE is_active = 0')
    rows.close()
    for (const { command_id: id, hardware_id, command, created_at_ms: atMs } of sent) {
      const cart = carts.find(({ hardwareId }) => hardwareId === hardware_id)
      if (cart === undefined || commandIds.has(id)) continue
      commandIds.add(id)
      commands.push({ id, cart, command, atMs })
    }
    return { sent, inbox, configs, disabled: new Set(users.map(({ user_id }) => user_id)) }
  }

  async #compare(): Promise<Finding[]> {
    const { life, time } = this.#bottle
    const { hub, siteId } = this.#office
    if (!life.isRunning) return []
    const shown = new Map<string, string>()
    for (const { intentId } of this.#open) {
      const answer = await hub.ask('GET', `/sites/${siteId}/intents/${intentId}`)
      if (answer?.status !== 200) return []
      shown.set(intentId, answer.body.status)
    }
    if (!life.isRunning || life.disk.isFailing) return []
    const { nowMs } = time
    const { isReachable, stableMs } = this.#office
    const settledMs = isReachable ? stableMs - 30_000 : 0
    const { sent, inbox, configs, disabled } = this.#read()
    const found: Finding[] = []
    const numbers = sent.map(({ metadata }) => JSON.parse(metadata ?? '{}').wish)
    const open: Asked[] = []
    for (const { number, wish, intentId, hardwareId } of this.#open)
      if (wish === 'config' && inbox.some((one) => one.intent_id === intentId && one.status === 'applied'))
        this.#configs.set(hardwareId, Math.max(number, this.#configs.get(hardwareId) ?? 0))
    for (const one of this.#open) {
      const { number, wish, intentId, hardwareId, issuedMs, expiresMs } = one
      const status = shown.get(intentId)
      const decided = inbox.find(({ intent_id }) => intent_id === intentId)
      const wrong = (is: string, expected: string) =>
        found.push({ subject: hardwareId, is: `intent ${number}, ${wish}: ${is}`, expected })
      const isApplied = decided?.status === 'applied'
      if (
        decided === undefined
          ? !['pending', 'expired'].includes(status ?? '')
          : ![decided.status, 'pending'].includes(status ?? '')
      )
        wrong(`${status} at the hub`, `${decided?.status ?? 'pending'}, as at the gateway`)
      if (isApplied && decided.received_at_ms > expiresMs + 2_000) wrong('applied late', 'expired')
      if (decided?.status === 'expired' && decided.received_at_ms < expiresMs - 2_000) wrong('expired early', 'applied')
      const dueMs = decided?.received_at_ms ?? issuedMs
      if (status === 'pending' && Math.min(settledMs, nowMs - dueMs) > KNOWN_MS)
        wrong(`pending, ${decided?.status ?? 'unknown'} at the gateway`, `an outcome ${KNOWN_MS / 1000} s later`)
      const effects = isCommand(wish)
        ? numbers.filter((wanted) => wanted === number).length
        : Number(wish === 'disable' ? disabled.has(one.userId) : configs.some((set) => set.wish === number))
      // a later configuration has replaced it
      const isReplaced = wish === 'config' && isApplied && this.#configs.get(hardwareId) !== number
      if (effects !== Number(isApplied) && !isReplaced)
        wrong(`${decided?.status ?? status} with ${effects} effects`, isApplied ? '1' : '0')
      if (decided === undefined ? status === 'pending' : status !== decided.status) open.push(one)
    }
    this.#open = open
    for (const [i, number] of numbers.entries())
      if (number !== undefined && numbers.indexOf(number) !== i)
        found.push({ subject: sent[i]?.hardware_id ?? '', is: `intent ${number} twice`, expected: 'once' })
    this.#sinceMs = Math.max(this.#sinceMs, nowMs - DAY_MS)
    return found
  }
}

function isCommand(wish: Wish): boolean {
  return wish === 'locate' || wish === 'lock' || wish === 'unlock'
}
