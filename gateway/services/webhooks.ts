import { randomBytes } from 'node:crypto'
import { NotFoundError } from '#shared/errors.ts'
import { newUuid } from '#shared/ids.ts'
import type { Clock } from '#shared/time.ts'
import type { AlertKind } from '#shared/wire/alert-kinds.ts'
import type { Store } from '#store/store.ts'
import type { WebhookRow } from '#store/tables/webhooks.ts'
import type { DnsLookups } from './notifications/dns-lookups.ts'
import type { Outbox } from './notifications/outbox.ts'
import type { TargetStatus } from './notifications/target.ts'
import { webhookTarget } from './notifications/webhook-target.ts'

interface WebhooksDeps {
  store: Pick<Store, 'read' | 'write'>
  clock: Clock
  outbox: Outbox
  lookups: DnsLookups
}

export type Webhook = Omit<WebhookRow, 'secret'> & TargetStatus & { waiting: number }

/** Programs that receive alerts over HTTP. */
export class Webhooks {
  readonly #deps: WebhooksDeps
  readonly #byId = new Map<string, WebhookRow>()

  constructor(deps: WebhooksDeps) {
    this.#deps = deps
  }

  load(): void {
    for (const row of this.#deps.store.read.webhooks()) this.#keep(row)
  }

  /** Returns the webhooks in the order of their creation. */
  all(): Webhook[] {
    return [...this.#byId.values()].map((row) => this.#shown(row))
  }

  /** Throws `too_many_webhooks`. Only this result contains the secret. */
  async create(fields: {
    url: string
    kinds: AlertKind[] | null
    secret: string | undefined
  }): Promise<{ webhook: Webhook; secret: string }> {
    const { url, kinds, secret = randomBytes(32).toString('base64url') } = fields
    const row: WebhookRow = {
      webhookId: newUuid(),
      url,
      kinds,
      secret,
      createdAtMs: this.#deps.clock.nowMs(),
      lastSuccessAtMs: null,
      lastError: null,
    }
    // known here before anything can be queued for it
    await this.#deps.store.write('createWebhook', row, () => this.#keep(row))
    return { webhook: this.#shown(row), secret }
  }

  /** Deletes a webhook and its queued messages. Throws `webhook_not_found`. */
  async delete(webhookId: string): Promise<void> {
    const { store, outbox } = this.#deps
    this.#require(webhookId)
    await store.write('deleteWebhook', { webhookId }, () => this.#byId.delete(webhookId))
    await outbox.remove(webhookId)
  }

  /** Queues a test message; returns its id. Throws `webhook_not_found`. */
  async test(webhookId: string): Promise<string> {
    const { store, clock, outbox } = this.#deps
    this.#require(webhookId)
    const deliveryId = newUuid()
    const test = { deliveryId, targetId: webhookId, channel: 'webhook' as const, nowMs: clock.nowMs() }
    await store.write('queueTest', test)
    outbox.check()
    return deliveryId
  }

  #keep(row: WebhookRow): void {
    const { clock, lookups, outbox } = this.#deps
    this.#byId.set(row.webhookId, row)
    outbox.add(webhookTarget(row, { clock, lookups }), row)
  }

  #shown({ secret: _, ...row }: WebhookRow): Webhook {
    return { ...row, ...this.#deps.outbox.statusOf(row.webhookId) }
  }

  #require(webhookId: string): WebhookRow {
    const row = this.#byId.get(webhookId)
    if (row !== undefined) return row
    throw new NotFoundError('webhook_not_found', `there is no webhook ${webhookId}`)
  }
}
