import { SerialQueue } from '#shared/budgets/serial-queue.ts'
import { ConflictError, InvalidRequestError, NotFoundError } from '#shared/errors.ts'
import { newUuid } from '#shared/ids.ts'
import type { Clock } from '#shared/time.ts'
import { type NotifierChannel, recipientFaults } from '#shared/wire/notifiers.ts'
import type { Store } from '#store/store.ts'
import type { NotifierRow } from '#store/tables/notifiers.ts'
import { type NotifierTools, notifierTarget } from './notifications/notifier-target.ts'
import type { Outbox } from './notifications/outbox.ts'
import type { TargetStatus } from './notifications/target.ts'

interface NotifiersDeps extends NotifierTools {
  store: Pick<Store, 'read' | 'write'>
  clock: Clock
  outbox: Outbox
}

export type Notifier = Omit<NotifierRow, 'token'> & TargetStatus & { waiting: number }

/** Fields of a notifier that a user can set. */
export type NotifierFields = Pick<
  NotifierRow,
  'channel' | 'recipient' | 'token' | 'kinds' | 'hours' | 'afterUnacknowledgedMin'
>

/** Recipients of alerts by e-mail, ntfy or Telegram. */
export class Notifiers {
  readonly #deps: NotifiersDeps
  readonly #turns = new SerialQueue()
  readonly #byId = new Map<string, NotifierRow>()

  constructor(deps: NotifiersDeps) {
    this.#deps = deps
  }

  load(): void {
    for (const row of this.#deps.store.read.notifiers()) this.#keep(row)
  }

  /** Returns the notifiers in the order of their creation. */
  all(): Notifier[] {
    return [...this.#byId.values()].map((row) => this.#shown(row))
  }

  /** Throws `no_smtp` and `too_many_notifiers`. */
  async create(fields: NotifierFields): Promise<Notifier> {
    const { store, clock } = this.#deps
    this.#requireMail(fields.channel)
    const row: NotifierRow = {
      ...fields,
      notifierId: newUuid(),
      createdAtMs: clock.nowMs(),
      lastSuccessAtMs: null,
      lastError: null,
    }
    // known here before anything can be queued for it
    await store.write('createNotifier', row, () => this.#keep(row))
    return this.#shown(row)
  }

  /** Throws `notifier_not_found`, and `invalid_field` or `invalid_url` for values that its channel cannot use. */
  change(notifierId: string, patch: Partial<Omit<NotifierFields, 'channel'>>): Promise<Notifier> {
    return this.#turns.take(async () => {
      const row = { ...this.#require(notifierId), ...patch }
      requireRecipient(row)
      await this.#deps.store.write('updateNotifier', row, () => this.#byId.set(notifierId, row))
      return this.#shown(row)
    })
  }

  /** Deletes a notifier and its queued messages. Throws `notifier_not_found`. */
  delete(notifierId: string): Promise<void> {
    return this.#turns.take(async () => {
      const { store, outbox } = this.#deps
      this.#require(notifierId)
      await store.write('deleteNotifier', { notifierId }, () => this.#byId.delete(notifierId))
      await outbox.remove(notifierId)
    })
  }

  /** Queues a test message; returns its id. Throws `notifier_not_found` and `no_smtp`. */
  async test(notifierId: string): Promise<string> {
    const { store, clock, outbox } = this.#deps
    const { channel } = this.#require(notifierId)
    this.#requireMail(channel)
    const deliveryId = newUuid()
    await store.write('queueTest', { deliveryId, targetId: notifierId, channel, nowMs: clock.nowMs() })
    outbox.check()
    return deliveryId
  }

  #keep(row: NotifierRow): void {
    const { outbox, ...tools } = this.#deps
    const { notifierId } = row
    this.#byId.set(notifierId, row)
    outbox.add(
      notifierTarget(() => this.#byId.get(notifierId) ?? row, tools),
      row,
    )
  }

  #shown({ token: _, ...row }: NotifierRow): Notifier {
    return { ...row, ...this.#deps.outbox.statusOf(row.notifierId) }
  }

  #require(notifierId: string): NotifierRow {
    const row = this.#byId.get(notifierId)
    if (row !== undefined) return row
    throw new NotFoundError('notifier_not_found', `there is no notifier ${notifierId}`)
  }

  #requireMail(channel: NotifierChannel): void {
    if (channel !== 'email' || this.#deps.mailer.isConfigured) return
    throw new ConflictError('no_smtp', 'no mail server is configured; set CARTBARN_SMTP_URL and CARTBARN_SMTP_FROM')
  }
}

function requireRecipient({ channel, recipient, token }: NotifierRow): void {
  const errors = recipientFaults(channel, recipient, token).map((fault) => ({
    in: 'body' as const,
    ...fault,
  }))
  const [first] = errors
  if (first !== undefined) throw new InvalidRequestError(first.code, `${first.name}: ${first.detail}`, errors)
}
