import { fileNameOf } from '#shared/file-names.ts'

const MAX_LENGTH = 180

/**
 * The header `Content-Disposition` of an answer that is saved under this name. Names are made of ids, and a head office
 * gets ids of sites and devices from others.
 */
export function attachment(name: string): string {
  return `attachment; filename="${fileNameOf(name).replace(/^\.+/, '-').slice(-MAX_LENGTH)}"`
}
