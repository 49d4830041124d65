import { z } from 'zod'
import { newDeviceSchema } from './devices.ts'
import { hardwareIdSchema } from './schema/params.ts'

/** Devices in one file. */
export const IMPORT_LINES_MAX = 5000

/** As long as so many lines with the longest names can be. */
export const IMPORT_BYTES_MAX = 4 * 1024 * 1024

/** What the first line of the file may name, in any order; hardware_id has to be there. */
export const IMPORT_COLUMNS = ['hardware_id', 'device_type', 'name', 'cart', 'group'] as const

export type ImportColumn = (typeof IMPORT_COLUMNS)[number]

const { hardware_id, name, cart } = newDeviceSchema.shape

/** What people call a device in a line of the file, by the rules of `POST /devices`. */
export const importLineSchema = z.object({ hardware_id, name, cart })

export const deviceImportQuerySchema = z.object({
  dry_run: z.enum(['true', 'false']).default('false').meta({ description: 'Whether only to say what would happen.' }),
})

/** The file, as a browser or Node has it; its type is text/csv. */
export const deviceFileSchema = z.custom<Blob>().meta({
  type: 'string',
  description:
    'Its first line names the columns: hardware_id, device_type, name, cart, group, in any order. Comma, ' +
    'semicolon or tab, or what a line `sep=;` before it says; UTF-8, UTF-16 or windows-1252; up to 5,000 lines.',
  example: 'hardware_id,device_type,name,cart,group\ncart-07,teebox,Cart 7,7,North\n',
})

const count = z.number().int()

export const deviceImportSchema = z
  .object({
    created: count.meta({ description: 'Devices that were not there.', example: 198 }),
    updated: count.meta({ description: 'Devices of which something else is true now.', example: 2 }),
    unchanged: count.meta({ description: 'Devices that were as the file says.', example: 0 }),
    credentials: z
      .array(
        z.object({
          hardware_id: hardwareIdSchema,
          username: z.string().meta({ description: 'The hardware_id.', example: 'cart-07' }),
          password: z.string().meta({
            description: 'Shown only here; kept as a hash.',
            example: 'Xk7Jm2Qp9Rt4Wv6Yz8Ab3Cd5Ef1Gh0',
          }),
        }),
      )
      .meta({ description: 'Of the devices that were created, in the order of the file.' }),
  })
  .meta({ id: 'DeviceImport' })
