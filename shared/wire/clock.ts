import { z } from 'zod'
import { dateParam } from './schema/params.ts'

export const clockConfirmationSchema = z
  .strictObject({
    time: dateParam.meta({
      description: 'What time it is now, by a clock that you trust; it may be two minutes off.',
    }),
  })
  .meta({ id: 'ClockConfirmation' })

export const confirmedClockSchema = z.object({ clock: z.literal('confirmed') }).meta({ id: 'ConfirmedClock' })
