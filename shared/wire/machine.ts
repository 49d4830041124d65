import { z } from 'zod'

export const confirmedMachineSchema = z
  .object({ machine: z.literal('confirmed') })
  .meta({ id: 'ConfirmedMachine' })
