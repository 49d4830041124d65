import { useState } from 'preact/hooks'
import { moreTexts } from '#dashboard/texts/more.ts'
import { tabletTexts } from '#dashboard/texts/tablets.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { SelectField } from '#dashboard/ui/fields/select-field.tsx'
import type { AnswerOf } from '#shared/wire/operation-types.ts'
import type { Role } from '#shared/wire/users.ts'

type Users = AnswerOf<'GET /users'>

const ROLES: readonly Role[] = ['staff', 'user', 'admin']
const EVERY_CART = '*'

/** Choice of a user: an existing one, or one of the tablet's name that is created when `take` is called. */
export function useUserChoice(users: Users, tabletName: string) {
  const { api, gate } = useDashboard()
  const active = users.filter(({ is_active, role }) => is_active && role !== 'metrics')
  // a person must be chosen deliberately: actions of a shared tablet cannot be attributed to one
  const [userId, setUserId] = useState('')
  const [role, setRole] = useState<Role>('staff')
  const take = async (): Promise<string> => {
    if (userId !== '') return userId
    const body = { name: tabletName.trim(), role, allowed_hardware_ids: [EVERY_CART], mask_codes: role === 'user' }
    const { user } = await gate.act(() => api.call('POST /users', { body }))
    setUserId(user.user_id)
    return user.user_id
  }
  return { active, userId, setUserId, role, setRole, take }
}

/** List of users, and the role of a new one. */
export function UserChoice({ choice }: { choice: ReturnType<typeof useUserChoice> }) {
  const { active, userId, setUserId, role, setRole } = choice
  const texts = tabletTexts()
  const { roles } = moreTexts()
  const people = active.map(({ user_id, name, role }) => [user_id, `${name} (${roles[role]})`] as const)
  return (
    <>
      <SelectField
        name={texts.asWhom}
        value={userId}
        options={new Map([['', texts.sharedTablet], ...people])}
        onChoose={setUserId}
      />
      {userId === '' && (
        <SelectField
          name={texts.role}
          value={role}
          options={new Map(ROLES.map((one) => [one, roles[one]]))}
          onChoose={setRole}
        />
      )}
    </>
  )
}
