-- Where pi-nvim is: what vim.g.pi.bin says, else beside the plugin, else on $PATH.

local M = {}

-- When this file is loaded: the path may be relative.
local source = vim.loop.fs_realpath(debug.getinfo(1, 'S').source:sub(2))

local function executable(path)
  return vim.fn.executable(path) == 1
end

--- The folder of the plugin, with links followed, so that a link to it in a pack folder
--- leads to where it was built.
---@return string
function M.root()
  return vim.fn.fnamemodify(source, ':h:h:h')
end

--- The folder of the sources when the plugin lies in them, else nil.
---@return string|nil
function M.checkout()
  local top = vim.fn.fnamemodify(M.root(), ':h')
  if vim.fn.filereadable(top .. '/nvim-rpc/CMakeLists.txt') == 1 then
    return top
  end
end

--- The PREFIX that the plugin was installed into, else nil.
---@return string|nil
function M.prefix()
  return M.root():match('^(.*)/share/nvim/site/pack/pi/start/pi$')
end

--- The places beside the plugin, best first.
---@return string[]
function M.candidates()
  local places = { M.root() .. '/bin/pi-nvim' }
  local checkout, prefix = M.checkout(), M.prefix()
  if checkout then
    table.insert(places, checkout .. '/build/release/nvim-rpc/pi-nvim')
    table.insert(places, checkout .. '/build/dev/nvim-rpc/pi-nvim')
  end
  if prefix then
    table.insert(places, prefix .. '/bin/pi-nvim')
  end
  return places
end

--- What to run where there is no pi-nvim, or one of another version.
---@return string
function M.remedy()
  local checkout = M.checkout()
  if checkout then
    return 'make -C ' .. vim.fn.shellescape(checkout) .. ' nvim'
  end
  local prefix = M.prefix()
  return 'make install' .. (prefix and ' PREFIX=' .. vim.fn.shellescape(prefix) or '')
end

--- The program, or nil and words for the user.
---@return string|nil path
---@return string|nil problem
function M.find()
  local bin = (vim.g.pi or {}).bin
  if bin and bin ~= '' then
    local path = vim.fn.exepath(vim.fn.expand(bin))
    if path == '' then
      return nil, ('vim.g.pi.bin is %s, which is not a program'):format(bin)
    end
    return path
  end
  for _, path in ipairs(M.candidates()) do
    if executable(path) then
      return path
    end
  end
  local path = vim.fn.exepath('pi-nvim')
  if path ~= '' then
    return path
  end
  return nil, ('there is no pi-nvim yet; run: %s'):format(M.remedy())
end

return M
