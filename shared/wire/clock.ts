import { z } from 'zod'
import { dateParam, isoSchema } from './params.ts'

export const clockConfirmationSchema = z
  .strictObject({
    timestamp: dateParam.meta({
      description: 'What time it is now, by a clock that you trust; it may be five minutes off.',
    }),
  })
  .meta({ id: 'ClockConfirmation' })

export const confirmedClockSchema = z
  .object({ success: z.literal(true), timestamp: isoSchema })
  .meta({ id: 'ConfirmedClock' })
