import { summaryCsv, summaryFile } from '#shared/history/summary-csv.ts'
import type { SiteSettings } from '#shared/site/settings.ts'
import type { SummaryJson } from '#shared/wire/reports.ts'
import { type SummarySection, summarySections } from '#shared/wire/summaries/sections.ts'
import { type ReportWords, WORDS } from '#shared/wire/summaries/words.ts'
import type { Mail } from '../notifications/mailer.ts'
import { kindText } from '../notifications/texts.ts'

interface MailContext {
  /** Day or month of the report. */
  period: string
  settings: Pick<SiteSettings, 'name' | 'units'>
  language: SiteSettings['language']
  isLate: boolean
}

/** Longest HTML; with all carts of a large course in each list it is far shorter. */
const HTML_CHARACTERS = 100_000
const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
const CONTROL = /\p{C}+/gu

/** Subject, text, HTML and table of a report. */
export function reportMail(
  summary: SummaryJson,
  { period, settings, language, isLate }: MailContext,
): Pick<Mail, 'subject' | 'text' | 'html' | 'file'> {
  const words = WORDS[language]
  const name = settings.name.replaceAll(CONTROL, ' ')
  const title = `${name}: ${periodText(period, words)}`
  const sections = summarySections(summary, {
    units: settings.units,
    language,
    kindText: (kind) => kindText(kind, language),
  })
  const text = sections.map(
    ([heading, lines]) => `${heading}\n${lines.map((line) => `  ${line.join(': ')}\n`).join('')}`,
  )
  const named = period.length === 'YYYY-MM'.length ? { month: period } : { date: period }
  return {
    subject: isLate ? `${words.late}: ${title}` : title,
    text: `${title}\n\n${text.join('\n')}`,
    html: htmlOf(title, sections),
    file: { name: `${summaryFile(period)}.csv`, text: summaryCsv({ ...named, ...summary }) },
  }
}

/** `Fri 1 May 2026`, or `May 2026` */
function periodText(period: string, { locale, dayMark }: ReportWords): string {
  const atMs = Date.parse(period)
  const options = { timeZone: 'UTC', weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' } as const
  const parts = new Intl.DateTimeFormat(locale, options).formatToParts(atMs)
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.find((one) => one.type === type)?.value ?? ''
  const month = `${part('month')} ${part('year')}`
  return period.length === 'YYYY-MM'.length ? month : `${part('weekday')} ${part('day')}${dayMark} ${month}`
}

/** Page without anything from outside; lists that would be too long end early. */
function htmlOf(title: string, sections: readonly SummarySection[]): string {
  const rows = sections.flatMap(([heading, lines]) => [
    `<tr><th colspan="2" align="left">${escaped(heading)}</th></tr>`,
    ...lines.map(([label, value]) => `<tr><td>${escaped(label)}</td><td>${escaped(value)}</td></tr>`),
  ])
  const head = `<!doctype html><meta charset="utf-8"><title>${escaped(title)}</title><h1>${escaped(title)}</h1><table>`
  let length = head.length
  const fitting = rows.filter((row) => {
    length += row.length
    return length < HTML_CHARACTERS / 4
  })
  return `${head}${fitting.join('\n')}</table>\n`
}

function escaped(text: string): string {
  return text.replaceAll(CONTROL, ' ').replaceAll(/[&<>"']/g, (one) => ESCAPES[one] ?? '')
}
