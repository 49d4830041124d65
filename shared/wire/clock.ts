import { z } from 'zod'
import { dateParam } from './schema/params.ts'

export const clockConfirmationSchema = z
  .strictObject({
    time: dateParam.meta({
      description: 'Current time by a clock that you trust; up to two minutes of deviation are accepted.',
    }),
  })
  .meta({ id: 'ClockConfirmation' })

export const confirmedClockSchema = z.object({ clock: z.literal('confirmed') }).meta({ id: 'ConfirmedClock' })
