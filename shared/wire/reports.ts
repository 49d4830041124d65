import { z } from 'zod'
import { isCalendarDate } from '#shared/site/time-zone.ts'
import { ALERT_KINDS } from './alert-kinds.ts'
import { dateParam, isoSchema, listQuery, monthParam, tableFormatParam } from './schema/params.ts'

const cart = z.string().meta({ description: 'Name of the cart.', example: '17' })
const dateSchema = z.string().meta({ description: 'Local date of the site.', example: '2026-05-01' })
const place = {
  lat: z.number().meta({ description: 'Latitude in degrees.', example: 28.4101234 }),
  long: z.number().meta({ description: 'Longitude in degrees.', example: -81.5801234 }),
}

const warnings = {
  warnings: z
    .array(z.string())
    .optional()
    .meta({
      description: 'Readable list of data that may be missing in this response; absent if complete.',
      example: ['records of 1 damaged block(s) of this range may be missing'],
    }),
}

export const monthReportQuerySchema = listQuery('asc', 'Order by cart and date: asc or desc.').extend({
  month: monthParam,
})

const ofMonth = {
  month: z.string().meta({ description: 'Month as requested.', example: '2026-05' }),
  time_zone: z.string().meta({
    description: 'Time zone of the site, which defines the days.',
    example: 'America/New_York',
  }),
}

const utilisationRowSchema = z
  .object({
    cart,
    date: dateSchema,
    hours_out: z.number().meta({
      description:
        'Hours outside of the current parking zones, to 0.001; without a parking zone the hours of its trips. The ' +
        'time after a fix counts until the next one, at most silent_on_course_after_s.',
      example: 4.512,
    }),
    distance: z.number().meta({
      description: 'Metres driven, to 0.1, by the rules of trips but without a minimum distance.',
      example: 9120.4,
    }),
    rounds: z.number().int().meta({
      description: 'Number of rounds that began on the day, as in GET /rounds.',
      example: 1,
    }),
  })
  .meta({ id: 'UtilisationRow' })
export type UtilisationRowJson = z.infer<typeof utilisationRowSchema>

export const utilisationSchema = z
  .object({
    ...ofMonth,
    rows: z.array(utilisationRowSchema).meta({
      description: 'Rows by cart and date, for days on which the cart reported a position.',
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
      'Newest voltage at rest before noon and before the first drive, else the first at rest before the first ' +
        'drive, in volts; null without one.',
      50.61,
    ),
    lowest_voltage: volts('Lowest voltage while driving, in volts; null without one.', 46.9),
  })
  .meta({ id: 'BatteryRow' })
export type BatteryRowJson = z.infer<typeof batteryRowSchema>

export const batteryReportSchema = z
  .object({
    ...ofMonth,
    rows: z.array(batteryRowSchema).meta({
      description: 'Rows by cart and date, for days with a voltage of the cart.',
    }),
    ...warnings,
  })
  .meta({ id: 'BatteryReport' })

/** Query of a map of past activity. */
export const mapReportQuerySchema = z.object({ from: dateParam, to: dateParam })

const range = {
  from: isoSchema.meta({ description: 'Start of the range as requested.' }),
  to: isoSchema.meta({ description: 'End of the range as requested.' }),
}

export const trafficSchema = z
  .object({
    ...range,
    cell_m: z.number().meta({ description: 'Width of a cell in metres.', example: 8.4 }),
    seconds: z.number().int().meta({ description: 'Seconds over all cells.', example: 1_842_300 }),
    cells: z
      .array(
        z.object({
          ...place,
          seconds: z.number().int().meta({ description: 'Seconds that carts spent in the cell.', example: 1260 }),
        }),
      )
      .meta({
        description:
          'Square cells in rows from the north, by their centre: at most 10,000, which are larger for a larger ' +
          'area. Excludes carts in their parking zones.',
      }),
    ...warnings,
  })
  .meta({ id: 'Traffic' })
export type TrafficJson = z.infer<typeof trafficSchema>

export const silencesSchema = z
  .object({
    ...range,
    silent_after_s: z.number().meta({
      description: 'Seconds without a record from which an outage counts: silent_on_course_after_s of the site.',
      example: 900,
    }),
    total: z.number().int().meta({ description: 'Number of outages in the range.', example: 12 }),
    silences: z
      .array(
        z.object({
          cart,
          at: isoSchema.meta({ description: 'Time of the last record before the outage.' }),
          until: isoSchema.nullable().meta({ description: 'Time of the next record; null if there was none.' }),
          duration: z.number().int().meta({ description: 'Duration in seconds.', example: 2710 }),
          ...place,
        }),
      )
      .meta({
        description:
          'Up to 2,000 outages, longest first, with the last position before each. Excludes carts in their parking ' +
          'zones.',
      }),
    ...warnings,
  })
  .meta({ id: 'Silences' })
export type SilencesJson = z.infer<typeof silencesSchema>

const count = z.number().int()
const minutesOrNull = z.number().nullable()
const cartList = z.array(z.string()).meta({ example: ['17'] })

const summaryFields = {
  time_zone: z.string().meta({ description: 'Time zone of the site, which defines the days.' }),
  is_complete: z.boolean().meta({ description: 'False while the day or month lasts.' }),
  carts: z.object({
    total: count.meta({ description: 'Golf carts in scope.' }),
    used: count.meta({ description: 'Those that were out of parking.' }),
    out_of_service: count.meta({ description: 'Those that have been out of service since then.' }),
  }),
  rounds: z.object({
    count: count.meta({ description: 'Rounds that began then, as in GET /rounds.' }),
    nine: count.meta({ description: 'Those of nine to 17 holes.' }),
    eighteen: count.meta({ description: 'Those of 18 holes and more.' }),
    mean_minutes: minutesOrNull.meta({ description: 'Mean duration of those that ended; null without any.' }),
    median_minutes: minutesOrNull.meta({ description: 'Median duration of those that ended; null without any.' }),
    within_pace_percent: minutesOrNull.meta({
      description: 'Percentage that was less than delay_from_min late at its end; null without any.',
    }),
  }),
  pace: z.object({
    mean_late_min: minutesOrNull.meta({ description: 'Mean delay of the parties at their end; null without any.' }),
    delayed_parties: count.meta({ description: 'Parties that others delayed.' }),
    worst_hole: count.nullable().meta({ description: 'Hole on which most time was lost; null for none.' }),
  }),
  handouts: z.object({
    parties: count.meta({ description: 'Parties that carts were given out to.' }),
    overdue: count.meta({ description: 'Those with a cart out after the expected end.' }),
  }),
  incidents: z
    .array(z.object({ kind: z.enum(ALERT_KINDS), count: count.meta({ description: 'Number of alerts.' }) }))
    .meta({ description: 'Alerts that were opened then, by kind.' }),
  calls: z.object({
    help: count.meta({ description: 'Calls for help.' }),
    ranger: count.meta({ description: 'Calls for a ranger.' }),
    breakdown: count.meta({ description: 'Calls about a breakdown.' }),
    order: count.meta({ description: 'Orders.' }),
    median_answer_s: z.number().nullable().meta({
      description: 'Median time until staff acknowledged a call; null without any.',
    }),
  }),
  not_charged: cartList.meta({ description: 'Carts with an alert not_charging.' }),
  low: cartList.meta({ description: 'Carts with an alert low_battery.' }),
  service_due: z
    .array(z.object({ cart, name: z.string().meta({ description: 'Name of the plan.' }) }))
    .meta({ description: 'Carts with an alert service_due, and the names of its plan.' }),
  not_seen: cartList.meta({ description: 'Carts that reported no position then.' }),
  hours_out: z.number().meta({ description: 'Hours outside of the parking zones, of all carts.', example: 104.5 }),
  distance: z.number().meta({ description: 'Metres driven by all carts.', example: 250100.5 }),
}

export const daySummarySchema = z
  .object({ date: z.string().meta({ description: 'Local date.', example: '2026-05-01' }), ...summaryFields })
  .meta({ id: 'DaySummary' })
export const monthSummarySchema = z
  .object({ month: z.string().meta({ description: 'Month.', example: '2026-05' }), ...summaryFields })
  .meta({ id: 'MonthSummary' })
export type SummaryJson = Omit<z.output<typeof daySummarySchema>, 'date'>

const localDateParam = z
  .string()
  .refine(isCalendarDate, { message: 'must be a date, such as 2026-05-01', params: { code: 'invalid_date' } })
  .meta({ description: 'Local date of the site.', example: '2026-05-01' })

export const daySummaryQuerySchema = z.object({ date: localDateParam, format: tableFormatParam })
export const monthSummaryQuerySchema = z.object({ month: monthParam, format: tableFormatParam })
