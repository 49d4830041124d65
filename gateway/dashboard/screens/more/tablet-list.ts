import { moreTexts } from '#dashboard/texts/more.ts'
import type { AnswerOf } from '#shared/wire/operation-types.ts'

/** Data of the three sections of the page. */
export interface Tablets {
  users: AnswerOf<'GET /users'>
  sessions: AnswerOf<'GET /sessions'>
  requests: AnswerOf<'GET /access-requests'>
}

/** "Jane (Staff)". */
export function nameOf({ users }: Tablets, userId: string): string {
  const user = users.find(({ user_id }) => user_id === userId)
  return user === undefined ? '–' : `${user.name} (${moreTexts().roles[user.role]})`
}
