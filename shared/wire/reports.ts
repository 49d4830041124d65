import { z } from 'zod'
import { dateParam, isoSchema, listQuery, monthParam } from './schema/params.ts'

const cart = z.string().meta({ description: 'What the cart is called.', example: '17' })
const dateSchema = z.string().meta({ description: 'A day by the clocks of the site.', example: '2026-05-01' })
const place = {
  lat: z.number().meta({ description: 'Latitude, degrees.', example: 28.4101234 }),
  long: z.number().meta({ description: 'Longitude, degrees.', example: -81.5801234 }),
}

const warnings = {
  warnings: z
    .array(z.string())
    .optional()
    .meta({
      description: 'What may be missing in this answer, for people; absent where nothing is.',
      example: ['records of 1 damaged block(s) of this range may be missing'],
    }),
}

/** The query of a report of a month. */
export const monthReportQuerySchema = listQuery('asc', 'By cart and date: asc or desc.').extend({
  month: monthParam,
})

const ofMonth = {
  month: z.string().meta({ description: 'As asked for.', example: '2026-05' }),
  time_zone: z.string().meta({ description: 'Of the site: by it days begin.', example: 'America/New_York' }),
}

const utilisationRowSchema = z
  .object({
    cart,
    date: dateSchema,
    hours_out: z.number().meta({
      description:
        'Hours out of its parking zones as they are now, to 0.001; without a parking zone the hours of its ' +
        'trips. After a fix it counts until the next, at most silent_on_course_after_s.',
      example: 4.512,
    }),
    distance: z.number().meta({
      description: 'Metres driven, to 0.1: by the rules of trips, however short the way was.',
      example: 9120.4,
    }),
    rounds: z.number().int().meta({ description: 'Rounds that began on the day, as in GET /rounds.', example: 1 }),
  })
  .meta({ id: 'UtilisationRow' })
export type UtilisationRowJson = z.infer<typeof utilisationRowSchema>

export const utilisationSchema = z
  .object({
    ...ofMonth,
    rows: z.array(utilisationRowSchema).meta({
      description: 'By cart and date: days on which the cart said where it was.',
    }),
    ...warnings,
  })
  .meta({ id: 'Utilisation' })

const volts = (description: string, example: number) => z.number().nullable().meta({ description, example })

const batteryRowSchema = z
  .object({
    cart,
    date: dateSchema,
    rest_voltage_morning: volts(
      'Volts: the newest at rest before noon and before it first drove, else the first at rest before it drove; ' +
        'null for none.',
      50.61,
    ),
    lowest_voltage: volts('Volts: the lowest while it drove; null for none.', 46.9),
  })
  .meta({ id: 'BatteryRow' })
export type BatteryRowJson = z.infer<typeof batteryRowSchema>

export const batteryReportSchema = z
  .object({
    ...ofMonth,
    rows: z.array(batteryRowSchema).meta({ description: 'By cart and date: days with a voltage of the cart.' }),
    ...warnings,
  })
  .meta({ id: 'BatteryReport' })

/** The query of a map of what was. */
export const mapReportQuerySchema = z.object({ from: dateParam, to: dateParam })

const range = {
  from: isoSchema.meta({ description: 'As asked for.' }),
  to: isoSchema.meta({ description: 'As asked for.' }),
}

export const trafficSchema = z
  .object({
    ...range,
    cell_m: z.number().meta({ description: 'How wide a cell is, in metres.', example: 8.4 }),
    seconds: z.number().int().meta({ description: 'Of all cells.', example: 1_842_300 }),
    cells: z
      .array(
        z.object({
          ...place,
          seconds: z.number().int().meta({ description: 'That carts were in the cell.', example: 1260 }),
        }),
      )
      .meta({
        description:
          'Squares in rows from the north, by their middle: at most 10,000, which are wider where it takes more. ' +
          'Carts in their parking zones are left out.',
      }),
    ...warnings,
  })
  .meta({ id: 'Traffic' })
export type TrafficJson = z.infer<typeof trafficSchema>

export const silencesSchema = z
  .object({
    ...range,
    silent_after_s: z.number().meta({
      description: 'Seconds without a record that are no silence yet: silent_on_course_after_s of the site.',
      example: 900,
    }),
    total: z.number().int().meta({ description: 'Silences in the range.', example: 12 }),
    silences: z
      .array(
        z.object({
          cart,
          at: isoSchema.meta({ description: 'Time of the last record before it.' }),
          until: isoSchema.nullable().meta({ description: 'Time of the next; null where none came.' }),
          duration: z.number().int().meta({ description: 'Seconds.', example: 2710 }),
          ...place,
        }),
      )
      .meta({
        description:
          'The longest 2,000, the longest first, with the last position before each. Carts in their parking ' +
          'zones are left out.',
      }),
    ...warnings,
  })
  .meta({ id: 'Silences' })
export type SilencesJson = z.infer<typeof silencesSchema>
