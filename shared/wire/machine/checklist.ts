import { z } from 'zod'

/** Steps of setting up a course, in the order in which the app shows them. */
export const CHECKLIST_STEPS = [
  'devices',
  'barn',
  'course_map',
  'zones',
  'opening_hours',
  'lock_rules',
  'pins',
  'tablets',
  'notifications',
  'backup',
  'encryption',
] as const

export type ChecklistStep = (typeof CHECKLIST_STEPS)[number]

/** `GET /checklist` */
export const checklistSchema = z
  .object({
    hidden: z.boolean().meta({ description: 'True once an admin has hidden it: hide_checklist in PATCH /site.' }),
    steps: z
      .array(
        z.object({
          step: z.enum(CHECKLIST_STEPS).meta({
            description:
              'Step. lock_rules: automatic locks. pins: people with a PIN. tablets: signed-in browsers other than ' +
              "the caller's. notifications: notifiers and webhooks. backup: a good one in the last 36 hours.",
          }),
          done: z.boolean().meta({ description: 'True if the step is complete.' }),
          count: z
            .number()
            .int()
            .nullable()
            .meta({ description: 'Number of items; null if the step has none to count.' }),
        }),
      )
      .meta({ description: 'All steps, in order.' }),
  })
  .meta({ id: 'Checklist' })
export type ChecklistJson = z.infer<typeof checklistSchema>
