import { notifyTexts } from '#dashboard/texts/notify.ts'
import type { ApiError } from '#shared/client.ts'

/** Formats the reason why a recipient was not saved, tested or deleted, with the fields that the gateway rejected. */
export function errorText({ code, detail, errors }: ApiError): string {
  const known = notifyTexts().failures.get(code)
  return known ?? (errors.map((error) => `${error.name}: ${error.detail}`).join('; ') || detail)
}
