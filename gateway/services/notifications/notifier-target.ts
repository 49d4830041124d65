import type { SiteSettings } from '#shared/site/settings.ts'
import type { AlertJson } from '#shared/wire/alerts.ts'
import type { NotifierChannel } from '#shared/wire/notifiers.ts'
import { noticeAfterMs } from '#store/tables/deliveries.ts'
import type { NotifierRow } from '#store/tables/notifiers.ts'
import type { DnsLookups } from './dns-lookups.ts'
import { MAIL_MS, type Mailer } from './mailer.ts'
import { type CartPosition, type Notification, noticeOf, testNotice } from './notification.ts'
import { post } from './post.ts'
import type { Outgoing, Sending, Target } from './target.ts'

export interface NotifierTools {
  mailer: Mailer
  lookups: DnsLookups
  /** Without a trailing slash. */
  telegramUrl: string
  site: { readonly settings: SiteSettings }
  /** Returns the base of links. */
  baseUrl: () => Promise<string>
  /** Undefined for a cart that no longer exists. */
  placeOf: (cart: string) => CartPosition | undefined
}

/** Sends a message over one channel to the recipient of a notifier. */
type Send = (
  notifier: NotifierRow,
  notice: Notification,
  message: { id: string; signal: AbortSignal },
  tools: NotifierTools,
) => Promise<void>

const ATTEMPT_MS: Record<NotifierChannel, number> = { email: MAIL_MS, ntfy: 10_000, telegram: 10_000 }
/** Limits of the text: ntfy and Telegram accept about 4,000 characters. */
const TEXT_BYTES: Record<NotifierChannel, number> = { email: 100_000, ntfy: 3_800, telegram: 3_800 }
const PRIORITY = 'high'

const SENDERS: Record<NotifierChannel, Send> = {
  email: ({ recipient }, { title, text }, { id, signal }, { mailer }) =>
    mailer.send({ to: recipient, subject: title, text, id, signal }),
  ntfy: ({ recipient, token }, { title, text, link }, { signal }, { lookups }) =>
    post({
      url: recipient,
      body: text,
      signal,
      lookup: lookups.lookup,
      headers: {
        'content-type': 'text/plain; charset=utf-8',
        Title: headerText(title),
        Priority: PRIORITY,
        Click: link,
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      },
    }),
  telegram: ({ recipient, token }, { text }, { signal }, { lookups, telegramUrl }) =>
    post({
      url: `${telegramUrl}/bot${token ?? ''}/sendMessage`,
      signal,
      lookup: lookups.lookup,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ chat_id: recipient, text }),
    }),
}

/** Recipient of alerts; `current` returns the latest settings. */
export function notifierTarget(current: () => NotifierRow, tools: NotifierTools): Target {
  const { notifierId, channel } = current()
  return {
    targetId: notifierId,
    channel,
    attemptMs: ATTEMPT_MS[channel],
    get waitMs() {
      return noticeAfterMs(current())
    },
    async send(outgoing, { isLate, signal }) {
      const notice = await makeNotice(outgoing, { isLate, maxBytes: TEXT_BYTES[channel] }, tools)
      const [{ deliveryId }] = outgoing
      await SENDERS[channel](current(), notice, { id: deliveryId, signal }, tools)
    },
  }
}

async function makeNotice(
  outgoing: readonly [Outgoing, ...Outgoing[]],
  { isLate, maxBytes }: Pick<Sending, 'isLate'> & { maxBytes: number },
  { site, baseUrl, placeOf }: NotifierTools,
): Promise<Notification> {
  const context = { site: site.settings, baseUrl: await baseUrl(), placeOf, isLate, maxBytes }
  const [first, ...others] = outgoing
  if (first.alertId === null) return testNotice(context)
  return noticeOf([alertIn(first), ...others.map(alertIn)], context)
}

/** Parsed without validation: the store wrote it. */
function alertIn({ body }: Outgoing): AlertJson {
  return JSON.parse(body)
}

/** Encodes a text for a header: as it is if ASCII, else by RFC 2047. */
function headerText(text: string): string {
  return /^[\x20-\x7e]*$/.test(text) ? text : `=?UTF-8?B?${Buffer.from(text).toString('base64')}?=`
}
