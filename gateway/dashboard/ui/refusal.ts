import { formatSpan } from '#dashboard/texts/format.ts'
import { refusalTexts } from '#dashboard/texts/refusals.ts'
import { ApiError } from '#shared/client.ts'

/** Formats the error of a failed request; for a code without a text of the app, the gateway's own text. */
export function refusalText(error: unknown): string {
  const texts = refusalTexts()
  if (!(error instanceof ApiError)) return texts.noAnswer
  if (error.status === 429 && error.retryAfterS !== undefined) return texts.wait(formatSpan(error.retryAfterS * 1_000))
  const byCode: Readonly<Record<string, string>> = texts.byCode
  const code = error.errors.find(({ code }) => Object.hasOwn(byCode, code))?.code ?? error.code
  return Object.hasOwn(byCode, code) ? (byCode[code] ?? '') : texts.other(error.detail)
}
