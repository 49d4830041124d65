import { useDashboard } from './dashboard-context.ts'

/** Value that lives in the address, so that Back and a reload keep it; empty by default. */
export function useAddress(key: string): [string, (value: string) => void] {
  const { router } = useDashboard()
  return [router.route.value.query[key] ?? '', (value) => router.choose({ [key]: value })]
}

/** Choice that lives in the address; by default the first of the names. */
export function useChoice<Name extends string>(
  key: string,
  names: readonly [Name, ...Name[]],
): [Name, (name: Name) => void] {
  const [value, setValue] = useAddress(key)
  const [usual] = names
  return [names.find((name) => name === value) ?? usual, (name) => setValue(name === usual ? '' : name)]
}
