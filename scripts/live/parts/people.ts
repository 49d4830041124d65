import { createRandom, type Random } from '#shared/random.ts'
import { ERROR_CODES } from '#shared/wire/error-codes.ts'
import type { Bottle, Check, Finding, Part } from '../bottle.ts'
import type { Desk, Desks } from '../checks/desks.ts'
import { comparePictures } from '../checks/pictures.ts'
import { comparePinLocks } from '../checks/pin-locks.ts'
import { readAround } from '../checks/reading.ts'
import type { Frame } from '../model/picture.ts'
import {
  CODE,
  type LiveUser,
  PinTruth,
  type Rights,
  type Role,
  sees,
  seesCodes,
  TabletRights,
} from '../model/rights.ts'
import { Tablet, type TabletAnswer } from '../model/tablet.ts'
import type { Entry, TabletEntry } from '../plan.ts'

/** Limit of the wait for a response on a tablet. */
const REQUEST_MS = 5_000
/** Interval at which the gateway stores how long a lock still lasts; a kill loses no more. */
const LOST_MS = 62_000
const SOON_MS = 2_000
/** Carts in a small scope, and on the screen of a tablet that sees all. */
const FEW = 4
const MOST_WATCHED = 12
/** Idle time of a person, and duration of the rights of an admin. */
const IDLE_MS = 600_000
/** People with PINs on shared tablets: they sign in, work, are idle, guess PINs, and get other rights. */
export class People implements Part, Desks {
  readonly checks: readonly Check[]
  readonly bottle: Bottle
  readonly desks: Desk[] = []
  readonly #random: Random
  /** Users of the tablets, then people with PINs. */
  readonly #users: LiveUser[] = []
  /** Users whose last change was stored or not: a kill came before the response. */
  readonly #unsure = new Set<LiveUser>()
  readonly #pins = new Map<LiveUser, PinTruth>()
  readonly #cut = new Map<Tablet, 'client' | 'server' | 'both'>()
  readonly #found = new Map<number, Finding[]>()
  readonly #replies = new Map<string, (frame: Frame) => void>()
  #starts = 1
  #kills = 0
  #count = 0

  constructor(bottle: Bottle) {
    this.bottle = bottle
    this.#random = createRandom(bottle.plan.seed, 'people')
    bottle.explained.push(/locked a PIN user on all tablets/)
    const check = (number: number, claim: string, find: () => Promise<unknown> | undefined): Check => ({
      number,
      claim,
      when: 'look',
      find: async () => {
        await this.#catchUp()
        await find()
        return this.#found.get(number)?.splice(0) ?? []
      },
    })
    this.checks = [
      check(30, 'pin_locked is open while a PIN is locked on all tablets', () => comparePinLocks(this, this.#pins)),
      check(33, 'the picture of a tablet by frames alone is what the API shows', () => comparePictures(this)),
      check(34, 'a person acts until ten idle minutes, the end, or a change of the person', () => undefined),
      check(35, 'wrong PINs are counted over restarts, and lock as stated', () => undefined),
      check(36, 'no user reads what scope, mask or role forbids', () => readAround(this)),
    ]
    bottle.lines.onOpen.push((line) => {
      for (const [tablet, which] of this.#cut) if (line.owner === tablet.program) line.cut(which)
    })
  }

  async setUp(): Promise<void> {
    const { WebSocket } = await this.bottle.time.holding('ws', import('ws'))
    const ids = this.bottle.carts.map(({ hardwareId }) => hardwareId)
    const some = ids.filter((_, i) => i % 3 === 0).slice(0, FEW)
    const users: [string, Role, readonly string[] | null, boolean][] = [
      ['Shop', 'staff', null, false],
      ['Marshal', 'user', some, true],
      // sees the same carts, and codes
      ['Range', 'staff', some, false],
      ['Office', 'admin', null, false],
      ['Ann', 'staff', null, false],
      ['Bob', 'user', some, true],
      ['Cora', 'admin', null, false],
    ]
    for (const [name, role, scope, masksCodes] of users) {
      const body = { name, role, allowed_hardware_ids: scope ?? ['*'], mask_codes: masksCodes }
      const { user } = await this.bottle.set('POST', '/users', body)
      const rights = { role, scope, masksCodes }
      this.#users.push({ userId: user.user_id, name, rights, before: null, isActive: true, pin: null })
    }
    for (const person of this.#users.slice(4)) {
      person.pin = String(this.#random.integer(1000, 9999))
      await this.bottle.set('PUT', `/users/${person.userId}/pin`, { pin: person.pin })
      this.#pins.set(person, new PinTruth())
    }
    // a tablet that follows all of a large course would cost too much time, and so does one for whom all might count
    const all = ids.length > MOST_WATCHED ? ids : ['*']
    const wanted = [ids.slice(0, MOST_WATCHED), all, ids, []]
    for (const [i, user] of this.#users.slice(0, 4).entries()) {
      const tablet = new Tablet({
        name: `tablet ${user.name}`,
        wanted: wanted[i] ?? [],
        random: createRandom(this.bottle.plan.seed, 'tablet', i),
        now: () => this.bottle.time.nowMs,
        onFrame: (_, frame, text) => this.#judge(desk, frame, text),
      })
      tablet.WebSocket = WebSocket
      const desk: Desk = { name: user.name, tablet, rights: new TabletRights(user) }
      this.desks.push(desk)
      await this.#pair(desk)
    }
  }

  async perform(entry: Entry): Promise<void> {
    if (!('tablet' in entry) && entry.kind !== 'rights') return
    if (!this.bottle.life.isRunning) return
    await this.#catchUp()
    if (entry.kind === 'rights') await this.#change(entry.user, entry.change)
    else {
      const desk = this.desks[entry.tablet]
      if (desk !== undefined) await this.#performAt(desk, entry)
    }
  }

  /** Records a wrong statement of the product. */
  found(check: number, { name }: Pick<Desk, 'name'>, is: string, expected: string): void {
    const list = this.#found.get(check) ?? []
    this.#found.set(check, list)
    list.push({ subject: name, is, expected })
  }

  /** Sends a request of a tablet; null if no response came, undefined if it cannot be sent. */
  async ask({ tablet }: Desk, method: string, path: string, body?: unknown): Promise<TabletAnswer | null | undefined> {
    const { time, life } = this.bottle
    if (!life.isRunning || tablet.disturbedAtMs > time.nowMs) return undefined
    let answer: TabletAnswer | null = null
    let isOver = false
    void tablet.request(method, path, body).then((one) => {
      // a disk that fails leaves the outcome unknown
      answer = one?.status === 503 && life.disk.isFailing ? null : one
      isOver = true
    })
    await time.runUntil(time.nowMs + REQUEST_MS, () => isOver)
    return answer
  }

  async #performAt(desk: Desk, entry: Exclude<TabletEntry, { kind: 'rights' }>): Promise<void> {
    const { tablet } = desk
    const { time, lines } = this.bottle
    const person = 'person' in entry ? this.#users[4 + entry.person] : undefined
    if (entry.kind === 'line') {
      this.#cut.set(tablet, entry.which)
      tablet.disturbedAtMs = Number.POSITIVE_INFINITY
      tablet.isBehind = true
      const own = () => [...lines.open].filter(({ owner }) => owner === tablet.program)
      for (const line of own()) line.cut(entry.which)
      setTimeout(() => {
        this.#cut.delete(tablet)
        for (const line of own()) line.mend()
        tablet.recovered()
      }, entry.forMs)
    } else if (entry.kind === 'rejoin') tablet.rejoin()
    else if (tablet.disturbedAtMs > time.nowMs || !desk.rights.hasSession) return
    else if (entry.kind === 'stall') tablet.stall(entry.forMs)
    else if (entry.kind === 'act') await this.#act(desk, entry.how)
    else if (entry.kind === 'leave') await this.#leave(desk)
    else if (entry.kind === 'pin' && person !== undefined) await this.#enterPin(desk, person, entry.isRight)
    else if (entry.kind === 'revoke') await this.#revoke(desk)
  }

  async #enterPin(desk: Desk, person: LiveUser, isRight: boolean): Promise<void> {
    const truth = this.#pins.get(person)
    if (truth === undefined) return
    const { time } = this.bottle
    const fromMs = time.nowMs
    const pin = isRight && person.pin !== null ? person.pin : person.pin === '4711' ? '4712' : '4711'
    const body = { user_id: person.userId, pin }
    const answer = await this.ask(desk, 'POST', '/sessions/current/person', body)
    const toMs = time.nowMs
    if (answer == null) {
      truth.unsure(toMs)
      desk.rights.isUnsure = true
      return
    }
    desk.rights.acted(fromMs, toMs)
    const is = answer.status === 200 ? 'right' : String(answer.body.code)
    const isCounted = person.isActive && person.pin !== null
    const tried = pin === person.pin ? 'right' : 'wrong_pin'
    const onTabletMs = truth.lockedOnUntilMs(desk.name)
    const mustLock = toMs < Math.max(truth.lock.firstEndMs, onTabletMs) - SOON_MS
    const mayLock = fromMs < Math.max(truth.lock.lastEndMs, onTabletMs) + SOON_MS
    const expected = !isCounted ? ['wrong_pin'] : mustLock ? ['pin_locked'] : mayLock ? ['pin_locked', tried] : [tried]
    const isSure = toMs > truth.unsureUntilMs && !this.#unsure.has(person)
    if (isSure && !expected.includes(is))
      this.found(35, desk, `${is} for a PIN of ${person.name} that is ${tried}`, expected.join(' or '))
    if (isSure && mustLock && is === 'pin_locked') {
      const [firstMs, lastMs] = [truth.lock.firstEndMs, truth.lock.lastEndMs].map((one) => Math.max(one, onTabletMs))
      const untilMs = toMs + answer.retryAfterS * 1000
      if (untilMs < (firstMs ?? 0) - 2 * SOON_MS || untilMs > (lastMs ?? 0) + 2 * SOON_MS)
        this.found(
          35,
          desk,
          `${person.name} is locked for ${answer.retryAfterS} s`,
          `${((firstMs ?? 0) - toMs) / 1000}`,
        )
    }
    if (is === 'right') {
      truth.forgetTablet(desk.name)
      desk.rights.isUnsure = false
      desk.rights.begin(person, fromMs, toMs)
      desk.tablet.subscribe()
      if (person.rights.role === 'admin') this.#readAgain(desk, toMs + IDLE_MS + SOON_MS)
    } else if (is === 'wrong_pin' && isCounted) truth.wrong(desk.name, toMs)
    // a wrong PIN counts, whether that is stored or not
    else if (answer.status === 503) truth.unsure(toMs)
    await this.#checkMe(desk)
    this.#probe(desk)
  }

  /** Acts on a tablet, in the name of its PIN user. */
  async #act(desk: Desk, how: 'command' | 'socket' | 'note'): Promise<void> {
    const { bottle } = this
    const { rights } = desk
    const { time } = bottle
    const cart = this.#random.pick(bottle.carts as [(typeof bottle.carts)[number]])
    const fromMs = time.nowMs
    // a connection gets other rights up to a second later, a request does not
    const [could, ...others] = rights.possibleAt(fromMs, how === 'socket' ? undefined : 1)
    const actor = rights.actorAt(fromMs)
    const send = async (): Promise<{ status: number; body: Frame } | null | undefined> => {
      const command = { command: 'locate' }
      if (how === 'command') return this.ask(desk, 'POST', `/devices/${cart.hardwareId}/commands`, command)
      const note = `note ${++this.#count}`
      if (how === 'note') return this.ask(desk, 'PATCH', `/carts/${cart.hardwareId.slice(5)}`, { note })
      return desk.tablet.isOpen ? this.#command(desk, cart.hardwareId) : undefined
    }
    const answer = await send()
    if (answer === undefined) return
    const toMs = time.nowMs
    // it may have arrived without a response
    if (answer === null && rights.acting !== null) rights.acting.lastEndMs = toMs + IDLE_MS
    else rights.acted(fromMs, toMs)
    this.#probe(desk)
    if (answer === null || could === undefined || others.length > 0 || actor === undefined) return
    const may = sees(could, cart.hardwareId) && (how !== 'note' || could.role !== 'user')
    const isDone = answer.status < 300
    const isRefused = answer.status === 403
    const what = `${how} of ${cart.hardwareId} by ${actor?.name ?? desk.name} as ${could.role}`
    if (isDone ? !may : may && isRefused)
      this.found(isDone ? 36 : 34, desk, `${what}: ${answer.status}`, may ? 'done' : 'refused')
    if (how === 'note' || !isDone) return
    const by = how === 'command' ? answer.body : (await bottle.ask('GET', `/commands/${answer.body.commandId}`))?.body
    const expected = (actor ?? rights.user).userId
    if (by !== undefined && by.requested_by !== expected)
      this.found(34, desk, `${what} is of ${by.requested_by}`, expected)
  }

  async #command(desk: Desk, hardwareId: string): Promise<{ status: number; body: Frame } | null> {
    const { time } = this.bottle
    const id = `command ${++this.#count}`
    let reply: Frame = null
    this.#replies.set(id, (frame) => {
      reply = frame
    })
    desk.tablet.send({ type: 'command', hardwareId, command: 'locate', id })
    await time.runUntil(time.nowMs + REQUEST_MS, () => reply !== null)
    this.#replies.delete(id)
    if (reply === null) return null
    return { status: reply.type === 'command_sent' ? 202 : refusalOf(reply.code), body: reply }
  }

  async #leave(desk: Desk): Promise<void> {
    const answer = await this.ask(desk, 'DELETE', '/sessions/current/person')
    desk.rights.isUnsure = answer == null
    if (answer?.status === 200) this.#endActing(desk)
    await this.#checkMe(desk)
  }

  #endActing({ rights, tablet }: Desk): void {
    rights.acting = null
    tablet.subscribe()
  }

  /** Ends the session of a tablet, by an admin or with its key; then it is paired again. */
  async #revoke(desk: Desk): Promise<void> {
    const { user } = desk.rights
    const isByKey = this.#random.chance(0.4)
    const me = await this.ask(desk, 'GET', '/me')
    const sessionId = me?.body?.session?.session_id
    if (me == null || sessionId === undefined) return
    const path = isByKey ? `/users/${user.userId}/rotate-key` : `/sessions/${sessionId}`
    const answer = await this.bottle.ask(isByKey ? 'POST' : 'DELETE', path)
    if (answer === null) return
    await this.#ended(desk)
    await this.#pair(desk)
  }

  /** Compares an ended session with the promise: its socket is closed immediately, and its cookie opens nothing. */
  async #ended(desk: Desk): Promise<void> {
    const { rights, tablet } = desk
    const { time } = this.bottle
    const [atMs, wasOpen] = [time.nowMs, tablet.isOpen && !tablet.isBehind]
    rights.hasSession = false
    rights.acting = null
    for (const truth of this.#pins.values()) truth.forgetTablet(desk.name)
    await time.runUntil(time.nowMs + 1_000)
    if (wasOpen && tablet.revokedAtMs < atMs)
      this.found(34, desk, 'the socket of an ended session is open', 'closed with 4401')
    const answer = await this.ask(desk, 'GET', '/me')
    if (answer != null && answer.status !== 401) this.found(34, desk, `${answer.status} without a session`, '401')
    tablet.switchOff()
  }

  async #pair(desk: Desk): Promise<void> {
    const { bottle } = this
    const { rights, tablet } = desk
    const body = { user_id: rights.user.userId, name: desk.name }
    const made = await bottle.ask('POST', '/pairing-codes', body)
    if (made?.status !== 201) return
    tablet.cookie = null
    const answer = await this.ask(desk, 'POST', '/sessions', { code: made.body.code })
    if (answer?.status !== 201) return
    rights.hasSession = true
    rights.acting = null
    rights.newUntilMs = bottle.time.nowMs + IDLE_MS
    tablet.switchOn()
    this.#readAgain(desk, rights.newUntilMs + SOON_MS)
  }

  /** Changes the rights, the PIN or the activity of a user. */
  async #change(number: number, change: Extract<TabletEntry, { kind: 'rights' }>['change']): Promise<void> {
    const user = this.#users[number]
    if (user === undefined || (change === 'on') === user.isActive) return
    const isPerson = this.#pins.has(user)
    if (change === 'pin') {
      if (!isPerson) return
      const pin = this.#random.chance(0.2) ? null : String(this.#random.integer(1000, 9999))
      const answer = await this.bottle.ask('PUT', `/users/${user.userId}/pin`, { pin })
      user.pin = pin
      if (answer === null) this.#unsure.add(user)
      else await this.#personEnded(user)
      return
    }
    if (change === 'on' || change === 'off') {
      const answer = await this.bottle.ask('PATCH', `/users/${user.userId}`, { is_active: change === 'on' })
      if (answer === null) this.#unsure.add(user)
      else await this.#activity(user, change === 'on')
      return
    }
    const rights = this.#otherRights(user.rights, change)
    user.before = user.rights
    user.rights = rights
    const { role, scope, masksCodes } = rights
    const body = { role, allowed_hardware_ids: scope ?? ['*'], mask_codes: masksCodes }
    const answer = await this.bottle.ask('PATCH', `/users/${user.userId}`, body)
    if (answer === null) {
      this.#unsure.add(user)
      return
    }
    user.before = null
    await this.#rightsChanged(user)
  }

  #otherRights(rights: Rights, change: 'scope' | 'role' | 'codes'): Rights {
    const { role, scope, masksCodes } = rights
    const ids = this.bottle.carts.map(({ hardwareId }) => hardwareId)
    if (change === 'codes') return { role, scope, masksCodes: !masksCodes }
    if (change === 'role')
      return { role: role === 'user' ? 'staff' : role === 'staff' ? 'user' : role, scope, masksCodes }
    const isAll = this.#random.chance(0.2)
    return { role, scope: isAll ? null : ids.filter(() => this.#random.chance(0.4)).slice(0, 2 * FEW), masksCodes }
  }

  async #activity(user: LiveUser, isActive: boolean): Promise<void> {
    user.isActive = isActive
    const own = this.desks.filter(({ rights }) => rights.user === user)
    if (!isActive) {
      await this.#personEnded(user)
      for (const desk of own) if (desk.rights.hasSession) await this.#ended(desk)
      return
    }
    for (const desk of own) await this.#pair(desk)
    // it does not act again
    for (const desk of this.desks) await this.#checkMe(desk)
  }

  async #personEnded(user: LiveUser): Promise<void> {
    const acting = this.desks.filter(({ rights }) => rights.acting?.person === user)
    for (const desk of acting) this.#endActing(desk)
    for (const desk of acting) await this.#checkMe(desk)
  }

  async #rightsChanged(user: LiveUser): Promise<void> {
    const own = this.desks.filter(({ rights }) => rights.user === user || rights.acting?.person === user)
    for (const { tablet } of own) tablet.subscribe()
    for (const desk of own) await this.#checkMe(desk)
  }

  /** Learns what restarts have changed: all PIN sign-ins ended, and some changes may not have been stored. */
  async #catchUp(): Promise<void> {
    this.#noticeRestart()
    if (!this.bottle.life.isRunning) return
    for (const user of [...this.#unsure]) {
      const answer = await this.bottle.ask('GET', `/users/${user.userId}`)
      if (answer === null) return
      this.#unsure.delete(user)
      const { role, allowed_hardware_ids: ids, mask_codes: masksCodes, is_active: isActive } = answer.body
      if (user.before !== null) {
        const scope = ids.includes('*') ? null : ids
        user.rights = { role, scope, masksCodes }
        user.before = null
        await this.#rightsChanged(user)
      }
      if (isActive !== user.isActive) await this.#activity(user, isActive)
      if (this.#pins.has(user)) {
        // one of two
        const done = await this.bottle.ask('PUT', `/users/${user.userId}/pin`, { pin: '1234' })
        if (done === null) this.#unsure.add(user)
        else user.pin = '1234'
        await this.#personEnded(user)
      }
    }
    for (const desk of this.desks)
      if (!desk.rights.hasSession && desk.rights.user.isActive && !this.#unsure.has(desk.rights.user))
        await this.#pair(desk)
  }

  #noticeRestart(): void {
    const { life, kills } = this.bottle
    if (life.starts === this.#starts || !life.isRunning) return
    this.#starts = life.starts
    const ended = kills.slice(this.#kills)
    this.#kills = kills.length
    const offMs = life.startedAtMs - (ended[0] ?? life.startedAtMs)
    for (const { rights } of this.desks) {
      rights.acting = null
      rights.isUnsure = false
    }
    for (const truth of this.#pins.values()) truth.restarted(life.startedAtMs, offMs, LOST_MS * ended.length)
  }

  /** Compares the PIN user and the rights with those that the tablet reads. */
  async #checkMe(desk: Desk): Promise<void> {
    const fromMs = this.bottle.time.nowMs
    const answer = await this.ask(desk, 'GET', '/me')
    if (answer != null) this.#compareMe(desk, fromMs, answer)
  }

  #compareMe(desk: Desk, fromMs: number, { status, body }: { status: number; body: Frame }): void {
    if (status === 503 && this.bottle.life.disk.isFailing) return
    const { rights } = desk
    const actor = rights.actorAt(fromMs)
    const [could, ...others] = rights.possibleAt(fromMs, 1)
    if (this.bottle.time.nowMs !== fromMs || others.length > 0 || could === undefined || actor === undefined) return
    if (!rights.hasSession || this.#unsure.size > 0) return
    const describe = (person: string | undefined, role: string, scope: readonly string[] | string) =>
      `${status} ${person ?? 'no person'}, ${role}, ${typeof scope === 'string' ? scope : [...scope].sort().join(' ')}`
    const is = status === 200 ? describe(body.session?.person?.user_id, body.role, body.scope) : String(status)
    const scope = could.role === 'admin' ? 'all' : (could.scope ?? 'all')
    const expected = describe(actor?.userId, could.role, scope).replace(/^\d+/, '200')
    if (is !== expected) this.found(34, desk, is, expected)
  }

  /** Looks again just before and after the idle time of a person, and the rights of an admin, are over. */
  #probe(desk: Desk): void {
    const { acting } = desk.rights
    if (acting === null) return
    const { firstEndMs, lastEndMs } = acting
    for (const atMs of [firstEndMs - 1_000, lastEndMs + 1_000])
      setTimeout(() => {
        const { nowMs } = this.bottle.time
        this.#noticeRestart()
        if (desk.rights.acting !== acting || acting.lastEndMs !== lastEndMs) return
        if (nowMs > lastEndMs) this.#readAgain(desk, nowMs + SOON_MS)
        if (desk.tablet.disturbedAtMs > nowMs || !this.bottle.life.isRunning) return
        void desk.tablet.request('GET', '/me').then((answer) => {
          if (answer !== null) this.#compareMe(desk, nowMs, answer)
        })
      }, atMs - this.bottle.time.nowMs)
  }

  /** Reads everything again, because the time of some rights is over. */
  #readAgain({ tablet }: Desk, atMs: number): void {
    setTimeout(() => tablet.subscribe(), atMs - this.bottle.time.nowMs)
  }

  /** Compares a frame with what its tablet may see at the moment. */
  #judge(desk: Desk, frame: Frame, text: string): void {
    if (frame.type === 'command_sent' || frame.type === 'error') this.#replies.get(frame.id)?.(frame)
    this.#noticeRestart()
    const { rights, tablet } = desk
    if (tablet.isBehind) return
    if (!rights.hasSession) this.found(34, desk, `${frame.type} without a session`, 'no frame')
    const possible = rights.possibleAt(this.bottle.time.nowMs)
    const may = (test: (one: Rights) => boolean) => possible.some(test)
    const forbid = (what: string) => this.found(36, desk, `${frame.type} with ${what}`, 'none')
    for (const id of devicesIn(frame)) if (!may((one) => sees(one, id))) forbid(id)
    for (const id of frame.denied ?? []) if (possible.every((one) => sees(one, id))) forbid(`${id} denied`)
    if (CODE.test(text) && !may(seesCodes)) forbid('a code')
    const alerts = frame.type === 'alert' ? [frame.alert] : (frame.alerts ?? [])
    for (const { kind, cart } of alerts)
      if (cart === null && !may(({ role }) => role === 'admin' || (role === 'staff' && kind !== 'pin_locked')))
        forbid(`an alert ${kind}`)
    if ((frame.type === 'recall' || frame.site?.pack !== undefined) && !may(({ role }) => role !== 'user'))
      forbid('the data of staff')
  }
}

/** Status for an error on a socket: 403 for each refusal, but none for a gateway that cannot store the command. */
function refusalOf(code: string): number {
  const { status } = ERROR_CODES[code] ?? { status: 403 }
  return status < 500 ? 403 : status
}

/** Devices that a frame is about. */
function devicesIn(frame: Frame): string[] {
  const ofCart = (cart: Frame) => cart.devices.map((one: Frame) => one.hardware_id)
  const ofAlert = ({ cart }: Frame) => (cart === null ? [] : [`cart-${cart}`])
  const { type } = frame
  if (type === 'snapshot')
    return [
      ...frame.devices.map((one: Frame) => one.hardware_id),
      ...frame.carts.flatMap(ofCart),
      ...frame.alerts.flatMap(ofAlert),
    ]
  if (type === 'cart') return ofCart(frame.cart)
  if (type === 'alert') return ofAlert(frame.alert)
  if (type === 'subscribed') return frame.hardwareIds.filter((id: string) => id !== '*')
  return frame.hardwareId === undefined ? [] : [frame.hardwareId]
}
