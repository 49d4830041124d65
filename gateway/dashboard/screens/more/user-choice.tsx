import { useState } from 'preact/hooks'
import { moreTexts } from '#dashboard/texts/more.ts'
import { tabletTexts } from '#dashboard/texts/tablets.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import type { AnswerOf } from '#shared/wire/operation-types.ts'
import type { Role } from '#shared/wire/users.ts'

type Users = AnswerOf<'GET /users'>

const ROLES: readonly Role[] = ['staff', 'user', 'admin']
const EVERY_CART = '*'

/** Choice of a user: an existing one, or a new one that is created when `take` is called. */
export function useUserChoice(users: Users, suggestedName = '') {
  const { api, gate } = useDashboard()
  const active = users.filter(({ is_active, role }) => is_active && role !== 'metrics')
  const [chosenId, setUserId] = useState<string | null>(null)
  // actions of a shared tablet cannot be attributed to a person, so a user must be chosen deliberately
  const userId = chosenId ?? ''
  const [typed, setName] = useState<string | null>(null)
  const name = typed ?? suggestedName
  const [role, setRole] = useState<Role>('staff')
  const isNew = !active.some(({ user_id }) => user_id === userId)
  const take = async (): Promise<string> => {
    if (!isNew) return userId
    const body = { name: name.trim(), role, allowed_hardware_ids: [EVERY_CART], mask_codes: role === 'user' }
    const { user } = await gate.act(() => api.call('POST /users', { body }))
    setUserId(user.user_id)
    return user.user_id
  }
  return { active, userId, setUserId, name, setName, role, setRole, isNew, take }
}

type Choice = ReturnType<typeof useUserChoice>

/** List of users, and the fields of a new one. */
export function UserChoice({ choice }: { choice: Choice }) {
  const texts = tabletTexts()
  const { roles } = moreTexts()
  return (
    <>
      <label class="field">
        {texts.asWhom}
        <select
          value={choice.isNew ? '' : choice.userId}
          onChange={({ currentTarget }) => choice.setUserId(currentTarget.value)}
        >
          <option value="">{texts.sharedTablet}</option>
          {choice.active.map(({ user_id, name, role }) => (
            <option key={user_id} value={user_id}>
              {`${name} (${roles[role]})`}
            </option>
          ))}
        </select>
      </label>
      {choice.isNew && <NewUserFields choice={choice} />}
    </>
  )
}

function NewUserFields({ choice }: { choice: Pick<Choice, 'name' | 'setName' | 'role' | 'setRole'> }) {
  const texts = tabletTexts()
  const { roles } = moreTexts()
  return (
    <>
      <label class="field">
        {texts.name}
        <input
          required
          maxLength={200}
          dir="auto"
          autocomplete="off"
          value={choice.name}
          onInput={({ currentTarget }) => choice.setName(currentTarget.value)}
        />
      </label>
      <label class="field">
        {texts.role}
        <select
          value={choice.role}
          onChange={({ currentTarget: { value } }) => choice.setRole(ROLES.find((one) => one === value) ?? 'staff')}
        >
          {ROLES.map((one) => (
            <option key={one} value={one}>
              {roles[one]}
            </option>
          ))}
        </select>
      </label>
    </>
  )
}
