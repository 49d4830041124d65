import { z } from 'zod'
import { CART_KINDS } from '#shared/site/settings.ts'
import { newDeviceSchema } from './devices.ts'
import { hardwareIdSchema } from './schema/params.ts'

/** Maximum number of devices in one file. */
export const IMPORT_LINES_MAX = 5000

/** Size of the maximum number of lines with the longest names. */
export const IMPORT_BYTES_MAX = 4 * 1024 * 1024

/** Permitted columns of the first line, in any order; hardware_id is required. */
export const IMPORT_COLUMNS = ['hardware_id', 'device_type', 'name', 'cart', 'group', 'kind'] as const

export type ImportColumn = (typeof IMPORT_COLUMNS)[number]

const { hardware_id, name, cart } = newDeviceSchema.shape

/** Texts of a device in a line of the file, by the rules of `POST /devices`. */
export const importLineSchema = z.object({ hardware_id, name, cart, kind: z.enum(CART_KINDS).optional() })

export const deviceImportQuerySchema = z.object({
  dry_run: z.enum(['true', 'false']).default('false').meta({ description: 'Only reports what would happen.' }),
})

/** File as provided by a browser or Node, of type text/csv. */
export const deviceFileSchema = z.custom<Blob>().meta({
  type: 'string',
  description:
    'CSV file whose first line names the columns hardware_id, device_type, name, cart, group and kind (of the cart), ' +
    'in any order, or as the app does in English or German; a type may also be lock or screen. ' +
    'Separated by comma, semicolon or tab, or as set by a preceding line `sep=;`; UTF-8, UTF-16 or windows-1252; up ' +
    'to 5,000 lines.',
  example: 'hardware_id,device_type,name,cart,group,kind\ncart-07,teebox,Cart 7,7,North,golf_cart\n',
})

const count = z.number().int()

export const deviceImportSchema = z
  .object({
    created: count.meta({ description: 'Number of new devices.', example: 198 }),
    updated: count.meta({ description: 'Number of changed devices.', example: 2 }),
    unchanged: count.meta({ description: 'Number of devices that matched the file already.', example: 0 }),
    credentials: z
      .array(
        z.object({
          hardware_id: hardwareIdSchema,
          username: z.string().meta({ description: 'hardware_id of the device.', example: 'cart-07' }),
          password: z.string().meta({
            description: 'Password; shown only in this response, stored as a hash.',
            example: 'Xk7Jm2Qp9Rt4Wv6Yz8Ab3Cd5Ef1Gh0',
          }),
        }),
      )
      .meta({ description: 'Credentials of the new devices, in the order of the file.' }),
  })
  .meta({ id: 'DeviceImport' })
