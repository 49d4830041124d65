import { notifyTexts } from '#dashboard/texts/notify.ts'
import type { ApiError } from '#shared/client.ts'

/** Why something was not saved, tried or deleted; with the fields that the gateway found fault with. */
export function errorText({ code, detail, errors }: ApiError): string {
  const known = notifyTexts().failures.get(code)
  return known ?? (errors.map((error) => `${error.name}: ${error.detail}`).join('; ') || detail)
}
