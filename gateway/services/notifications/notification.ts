import type { SiteSettings } from '#shared/site/settings.ts'
import type { AlertJson } from '#shared/wire/alerts.ts'
import { type Details, type NotificationTexts, WORDS } from './texts.ts'

export interface CartPosition {
  /** Driver or first player of its party; null for none. */
  player: string | null
  /** Names of the zones that contain the cart. */
  zones: readonly string[]
  /** In degrees; null before the first position. */
  position: { lat: number; long: number } | null
}

/** Context from which a message is built. */
export interface NoticeContext {
  site: Pick<SiteSettings, 'name' | 'language' | 'timeZone'>
  /** Base of links. */
  baseUrl: string
  /** Undefined for a cart that no longer exists. */
  placeOf: (cart: string) => CartPosition | undefined
  isLate: boolean
  /** Limit of the text, in bytes of UTF-8. */
  maxBytes: number
}

export interface Notification {
  title: string
  text: string
  /** Link to the first cart of the message. */
  link: string
}

const PROGRAM = 'cartbarn'
/** Control characters: a title is one line, and a name must not start another line. */
const CONTROL = /\p{C}+/gu

/** Builds a message about alerts, oldest first: as many as fit, and the number of those left out. */
export function noticeOf(alerts: readonly [AlertJson, ...AlertJson[]], context: NoticeContext): Notification {
  const { site, isLate, maxBytes } = context
  const words = WORDS[site.language]
  const [first] = alerts
  const what = alerts.length === 1 ? headline(first, context) : words.severalAlerts(alerts.length)
  const title = `${site.name || PROGRAM}: ${what}`.replaceAll(CONTROL, ' ')
  const blocks = alerts.map((alert) => blockOf(alert, context))
  const lateLine = isLate ? [`${words.late}: ${words.lateWhy}`] : []
  const text = fitting(lateLine, blocks, words, maxBytes).join('\n\n')
  return { title: isLate ? `${words.late}: ${title}` : title, text, link: linkTo(first, context) }
}

export function testNotice({ site, baseUrl, isLate }: NoticeContext): Notification {
  const words = WORDS[site.language]
  const { title, text } = words.test
  const link = `${baseUrl}/app/`
  const lines = [...(isLate ? [`${words.late}: ${words.lateWhy}`] : []), text, link]
  return { title: `${site.name || PROGRAM}: ${title}`, text: lines.join('\n'), link }
}

function headline(alert: AlertJson, { site, placeOf }: NoticeContext): string {
  const words = WORDS[site.language]
  const player = (alert.cart === null ? undefined : placeOf(alert.cart)?.player) ?? null
  const name = player === null ? alert.cart : `${alert.cart} (${player})`
  const subject = name === null ? words.gateway : words.cart(name)
  return `${subject}: ${words.what[alert.kind](detailsOf(alert, site, words))}`
}

function blockOf(alert: AlertJson, context: NoticeContext): string {
  const { site } = context
  const words = WORDS[site.language]
  const lines = [
    headline(alert, context),
    ...(alert.cart === null ? [] : [`${words.where}: ${placeText(alert, alert.cart, context)}`]),
    `${words.since}: ${timeText(Date.parse(alert.opened_at), site, words)}`,
    linkTo(alert, context),
  ]
  // names from earlier versions, and names that devices report, may contain line breaks
  return lines.map((line) => line.replaceAll(CONTROL, ' ')).join('\n')
}

/** Describes the current position of the cart; if unknown, its position when the alert was opened. */
function placeText({ details }: AlertJson, cart: string, { site, placeOf }: NoticeContext): string {
  const place = placeOf(cart)
  const known = place?.position ?? null
  const lat = known?.lat ?? details.lat
  const long = known?.long ?? details.long
  const at = typeof lat === 'number' && typeof long === 'number' ? `${lat.toFixed(5)}, ${long.toFixed(5)}` : null
  const zones = (place?.zones ?? []).join(', ')
  if (at === null) return zones || WORDS[site.language].unknownPlace
  return zones === '' ? at : `${zones} (${at})`
}

function linkTo({ cart }: AlertJson, { baseUrl }: NoticeContext): string {
  return cart === null ? `${baseUrl}/app/#alerts` : `${baseUrl}/app/#cart=${encodeURIComponent(cart.toWellFormed())}`
}

function detailsOf({ details }: AlertJson, site: NoticeContext['site'], words: NotificationTexts): Details {
  const number = (name: string) => (typeof details[name] === 'number' ? details[name] : null)
  const text = (name: string) => {
    const value = details[name]
    return typeof value === 'string' || typeof value === 'number' ? String(value) : null
  }
  const shown = (value: number | null, unit: string, digits: number) =>
    value === null
      ? null
      : `${value.toLocaleString(words.locale, { maximumFractionDigits: digits, useGrouping: false })} ${unit}`
  return {
    text,
    volts: (name) => shown(number(name), 'V', 2),
    minutes: (name) => {
      const seconds = number(name)
      return seconds === null ? null : shown(seconds / 60, 'min', 1)
    },
    time: (name) => {
      const atMs = Date.parse(text(name) ?? '')
      return Number.isNaN(atMs) ? null : timeText(atMs, site, words)
    },
  }
}

function timeText(atMs: number, { timeZone }: NoticeContext['site'], { locale }: NotificationTexts): string {
  const format = new Intl.DateTimeFormat(locale, {
    timeZone,
    dateStyle: 'medium',
    timeStyle: 'short',
    hourCycle: 'h23',
  })
  return format.format(atMs)
}

function fitting(head: string[], blocks: readonly string[], words: NotificationTexts, maxBytes: number): string[] {
  const texts = [...head]
  // reserve for the line with the number of alerts left out
  let bytes = Buffer.byteLength(head.join('\n\n')) + 100
  for (const [i, block] of blocks.entries()) {
    bytes += Buffer.byteLength(block) + 2
    if (bytes > maxBytes) return [...texts, words.more(blocks.length - i)]
    texts.push(block)
  }
  return texts
}
