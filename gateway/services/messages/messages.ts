import { type Caller, visibleHardwareIds } from '#domain/access.ts'
import { messageSeenBy, type ShownMessage } from '#domain/message.ts'
import type { Events } from '#gateway/events.ts'
import { ConflictError, ForbiddenError, NotFoundError, RateLimitedError } from '#shared/errors.ts'
import { newUuid } from '#shared/ids.ts'
import { currentHole } from '#shared/rounds/pace.ts'
import { type Clock, MINUTE_MS, type MonotonicClock, toIso } from '#shared/time.ts'
import type { MessageJson, MessageTarget, NewMessageJson } from '#shared/wire/messages/messages.ts'
import type { ListPage } from '#store/db/list-page.ts'
import type { MessagedCart, MessageRow } from '#store/messages/messages.ts'
import type { JobOptions } from '#store/readers/pool.ts'
import type { Store } from '#store/store.ts'
import type { CommandRow } from '#store/tables/commands.ts'
import type { Cart } from '../cart.ts'
import type { VisibleCarts } from '../carts/visible-carts.ts'
import type { CommandCaller, Commands } from '../commands/commands.ts'
import type { DeviceTypeLookup } from '../commands/request.ts'
import type { Groups } from '../configuration/groups.ts'
import type { Fleet } from '../fleet.ts'
import { nullIfDamaged } from '../null-if-damaged.ts'
import type { Parties } from '../parties/parties.ts'
import type { Recall } from '../recall/recall.ts'
import { isScreen, MESSAGE, screenStateOf } from '../recall/screens.ts'
import type { Rounds } from '../rounds/rounds.ts'
import type { Site } from '../site.ts'
import type { ReadyTexts } from './ready-texts.ts'

interface MessagesDeps {
  store: Pick<Store, 'read' | 'write'> & { readers: Pick<Store['readers'], 'run'> }
  fleet: Pick<Fleet, 'byHardwareId'>
  deviceTypes: DeviceTypeLookup
  commands: Pick<Commands, 'createForChosen'>
  recall: Pick<Recall, 'active'>
  visibleCarts: Pick<VisibleCarts, 'all' | 'require'>
  rounds: Pick<Rounds, 'running'>
  groups: Pick<Groups, 'require'>
  parties: Pick<Parties, 'require'>
  readyTexts: ReadyTexts
  site: Pick<Site, 'settings'>
  events: Events
  clock: Clock & MonotonicClock
}

/** Maximum number of messages of one user within a minute. */
const PER_MINUTE = 30

/** Messages of staff to the screens of carts, stored with the commands that show them and have their progress. */
export class Messages {
  readonly #deps: MessagesDeps
  /** Messages that screens have confirmed since the last evaluation of the carts, which announces them. */
  readonly #confirmed = new Set<string>()
  /** Times of the newest messages of each user. */
  readonly #sentMs = new Map<string, readonly number[]>()

  constructor(deps: MessagesDeps) {
    this.#deps = deps
    const { events, store } = deps
    events.on('commandMoved', ({ command: { command, status, paramsJson } }) => {
      const id = command === MESSAGE && status === 'completed' ? JSON.parse(paramsJson).message_id : undefined
      if (typeof id === 'string') this.#confirmed.add(id)
    })
    events.on('cartsEvaluated', ({ nowMs: atMs }) => {
      for (const id of this.#confirmed) {
        this.#confirmed.delete(id)
        const row = nullIfDamaged(() => store.read.message(id))
        if (row != null) events.emit('messageChanged', { event: 'confirmed', message: this.#shown(row), atMs })
      }
    })
  }

  /**
   * Sends a message. Throws `recall_active`, `text_not_found`, `nobody_to_tell`, `no_screen` and `too_many_messages`,
   * and for carts and groups that do not exist or are out of scope; then nothing is stored.
   */
  async send(request: NewMessageJson, by: MessageJson['by'], asking: CommandCaller) {
    const messageId = newUuid()
    let choice: { text: string; carts: readonly Cart[] } | undefined
    const { outcome, isRepeated } = await this.#deps.commands.createForChosen(
      request,
      async (caller) => {
        const text = this.#textOf(request)
        const carts = await this.#cartsOf(request.to, caller)
        choice = { text, carts }
        const hardwareIds = this.#screensOf(carts)
        this.#spend(caller)
        const params = { text, message_id: messageId }
        const ttlS = Math.round(request.ttl_min * 60)
        return { hardwareIds, request: { command: MESSAGE, params, metadata: null, ttlS }, outcome: messageId }
      },
      {
        ...asking,
        also: (rows) => {
          const [first] = rows
          // a screen may have been removed, or have too many unfinished commands
          if (choice === undefined || first === undefined) throw noScreen()
          const message = {
            message_id: messageId,
            text: choice.text,
            text_id: request.text_id ?? null,
            to: request.to,
            sent_at: toIso(first.createdAtMs),
            expires_at: toIso(first.createdAtMs + first.ttlS * 1000),
            by,
          }
          return { name: 'insertMessage', input: { message, carts: choice.carts.map((cart) => messaged(cart, rows)) } }
        },
      },
    )
    const message = this.#require(outcome)
    if (!isRepeated)
      this.#deps.events.emit('messageChanged', { event: 'sent', message, atMs: this.#deps.clock.nowMs() })
    return { message: this.#seenBy(message, asking.caller), isRepeated }
  }

  /** Lists messages by time, with the carts in scope. */
  async list(page: Omit<ListPage, 'visibleHardwareIds'>, caller: Caller, asker: JobOptions): Promise<MessageJson[]> {
    const query = { ...page, visibleHardwareIds: visibleHardwareIds(caller) }
    const rows = await this.#deps.store.readers.run('messages', query, asker)
    return rows.flatMap((row) => messageSeenBy(this.#shown(row), caller) ?? [])
  }

  /** Throws `message_not_found`, or `cart_forbidden` if none of its carts is in scope. */
  requireVisible(messageId: string, caller: Caller): MessageJson {
    return this.#seenBy(this.#require(messageId), caller)
  }

  #require(messageId: string): ShownMessage {
    const row = this.#deps.store.read.message(messageId)
    if (row === undefined) throw new NotFoundError('message_not_found', `there is no message ${messageId}`)
    return this.#shown(row)
  }

  #seenBy(message: ShownMessage, caller: Caller): MessageJson {
    const seen = messageSeenBy(message, caller)
    if (seen === null) throw new ForbiddenError('cart_forbidden', 'no cart of this message is in your scope')
    return seen
  }

  #shown({ message, carts }: MessageRow): ShownMessage {
    const isOnline = (hardwareId: string) => this.#deps.fleet.byHardwareId(hardwareId)?.isOnline === true
    const states = carts.map(({ cart, devices, screens }) => {
      const reached = screens.map(({ hardwareId, progress }) => ({
        isConfirmed: progress === 'confirmed',
        isReached: progress === 'sent' || (progress === 'waiting' && isOnline(hardwareId)),
      }))
      return { cart, devices, screen: screenStateOf(reached) }
    })
    return { ...message, carts: states }
  }

  #textOf({ text, text_id, language }: NewMessageJson): string {
    const { recall, readyTexts, site } = this.#deps
    if (recall.active !== null) throw new ConflictError('recall_active', 'a recall is active; end it first')
    const found = text ?? readyTexts.all().find((one) => one.text_id === text_id)?.[language ?? site.settings.language]
    if (found === undefined) throw new NotFoundError('text_not_found', `there is no ready text ${text_id}`)
    return found
  }

  /** Finds the carts in scope. Throws for carts and groups that do not exist, and for named carts out of scope. */
  async #cartsOf({ carts, party_id, hole, group_id }: MessageTarget, caller: Caller): Promise<readonly Cart[]> {
    const { visibleCarts, groups, rounds, parties } = this.#deps
    if (carts !== undefined) {
      const keys = new Set(carts.map((name) => visibleCarts.require(caller, name).key))
      return visibleCarts.all(caller).filter(({ key }) => keys.has(key))
    }
    if (party_id !== undefined) {
      const out = parties.require(caller, party_id).carts.filter(({ returned_at: at }) => at === null)
      return visibleCarts.all(caller).filter(({ key }) => out.some(({ cart }) => cart === key))
    }
    if (group_id !== undefined) {
      const { groupId } = groups.require(group_id)
      return visibleCarts.all(caller).filter(({ devices }) => devices.some(({ row }) => row.groupId === groupId))
    }
    const golfCarts = visibleCarts.all(caller).filter(({ notes }) => notes.kind === 'golf_cart')
    if (hole === undefined) return golfCarts.filter(isOut)
    const keys = golfCarts.map(({ key }) => key)
    const running = await rounds.running(keys, [], { owner: caller.userId })
    const playing = new Set(running.flatMap(({ cart, round }) => (currentHole(round)?.hole === hole ? [cart] : [])))
    const isOnHole = ({ stays }: Cart['verdict']) => stays.some((stay) => stay.type === 'hole' && stay.hole === hole)
    return golfCarts.filter(({ key, verdict }) => playing.has(key) || isOnHole(verdict))
  }

  #screensOf(carts: readonly Cart[]): string[] {
    if (carts.length === 0) throw new ConflictError('nobody_to_tell', 'no cart in your scope is there')
    const screens = carts.flatMap(({ devices }) => devices.filter((device) => isScreen(this.#deps.deviceTypes, device)))
    if (screens.length === 0) throw noScreen()
    return screens.map(({ row }) => row.hardwareId)
  }

  /** Throws `too_many_messages`. */
  #spend({ userId }: Caller): void {
    const nowMs = this.#deps.clock.monotonicMs()
    const recent = (this.#sentMs.get(userId) ?? []).filter((sentMs) => sentMs > nowMs - MINUTE_MS)
    const [oldestMs = nowMs] = recent
    const retryAfterS = Math.ceil((oldestMs + MINUTE_MS - nowMs) / 1000)
    if (recent.length >= PER_MINUTE)
      throw new RateLimitedError(`more than ${PER_MINUTE} messages a minute`, retryAfterS, 'too_many_messages')
    this.#sentMs.set(userId, [...recent, nowMs])
  }
}

function messaged({ key, devices }: Cart, rows: readonly CommandRow[]): MessagedCart<string> {
  const hardwareIds = devices.map(({ row }) => row.hardwareId)
  const commands = rows.filter(({ hardwareId }) => hardwareIds.includes(hardwareId))
  return { cart: key, devices: hardwareIds, screens: commands.map(({ commandId }) => commandId) }
}

function isOut({ verdict, notes }: Cart): boolean {
  return verdict.position !== null && !verdict.isInParking && notes.outOfService === null
}

function noScreen(): ConflictError {
  return new ConflictError('no_screen', 'none of these carts has a screen')
}
