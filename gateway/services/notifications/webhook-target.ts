import { createHmac } from 'node:crypto'
import type { Clock } from '#shared/time.ts'
import type { WebhookRow } from '#store/tables/webhooks.ts'
import type { DnsLookups } from './dns-lookups.ts'
import { post } from './post.ts'
import type { Target } from './target.ts'

interface WebhookTools {
  clock: Clock
  lookups: DnsLookups
}

const ATTEMPT_MS = 10_000

/** Program that receives alerts over HTTP. */
export function webhookTarget({ webhookId, url, secret }: WebhookRow, { clock, lookups }: WebhookTools): Target {
  return {
    targetId: webhookId,
    channel: 'webhook',
    waitMs: null,
    attemptMs: ATTEMPT_MS,
    send([{ deliveryId, body }], { signal }) {
      const timestamp = String(Math.floor(clock.nowMs() / 1000))
      const headers = {
        'content-type': 'application/json',
        'x-cartbarn-timestamp': timestamp,
        'x-cartbarn-signature': signatureOf(secret, timestamp, body),
        'x-cartbarn-delivery': deliveryId,
      }
      return post({ url, headers, body, signal, lookup: lookups.lookup })
    },
  }
}

/** Returns the signature with which the receiver verifies the origin and the time of the body. */
function signatureOf(secret: string, timestamp: string, body: string): string {
  return `sha256=${createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')}`
}
