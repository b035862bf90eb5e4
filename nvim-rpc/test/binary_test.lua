-- Where pi-nvim is looked for.

local suite = dofile(vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':h') .. '/suite.lua')
local tests, check, equal = suite.tests, suite.check, suite.equal

-- The module as if the plugin were in that folder.
local function placed(root)
  local path = root .. '/lua/pi/binary.lua'
  suite.write(path, suite.read(suite.plugin .. '/lua/pi/binary.lua'))
  return dofile(path)
end

local function program(path)
  suite.write(path, '#!/bin/sh\n')
  vim.loop.fs_chmod(path, 493) -- 0755
  return path
end

local function with_path(path, run)
  local before = vim.env.PATH
  vim.env.PATH = path .. ':' .. before
  local ok, err = pcall(run)
  vim.env.PATH = before
  if not ok then
    error(err, 0)
  end
end

function tests.option()
  local binary = placed(suite.dir .. '/option')
  local mine = program(suite.dir .. '/mine/my-pi')
  program(suite.dir .. '/option/bin/pi-nvim')
  vim.g.pi = { bin = mine }
  equal(binary.find(), mine)
  vim.g.pi = { bin = suite.dir .. '/nothing' }
  local path, problem = binary.find()
  equal(path, nil)
  check(problem:find('/nothing', 1, true) and problem:find('vim.g.pi.bin', 1, true), problem)
  vim.g.pi = nil
end

function tests.beside_the_plugin_before_path()
  local binary = placed(suite.dir .. '/beside')
  local there = program(suite.dir .. '/on-path/pi-nvim')
  with_path(suite.dir .. '/on-path', function()
    equal(binary.find(), there)
    local own = program(suite.dir .. '/beside/bin/pi-nvim')
    equal(binary.find(), own)
  end)
end

function tests.checkout()
  local top = suite.dir .. '/a checkout'
  local binary = placed(top .. '/nvim-rpc')
  equal(binary.checkout(), nil)
  suite.write(top .. '/nvim-rpc/CMakeLists.txt', '')
  equal(binary.checkout(), top)
  equal(binary.remedy(), "make -C '" .. top .. "' nvim")
  local dev = program(top .. '/build/dev/nvim-rpc/pi-nvim')
  equal(binary.find(), dev)
  local release = program(top .. '/build/release/nvim-rpc/pi-nvim')
  equal(binary.find(), release)
end

function tests.link_in_a_pack_folder()
  local top = suite.dir .. '/linked'
  placed(top .. '/nvim-rpc')
  suite.write(top .. '/nvim-rpc/CMakeLists.txt', '')
  local release = program(top .. '/build/release/nvim-rpc/pi-nvim')
  local pack = suite.dir .. '/site/pack/pi/start'
  vim.fn.mkdir(pack, 'p')
  assert(vim.loop.fs_symlink(top .. '/nvim-rpc', pack .. '/pi'))
  equal(dofile(pack .. '/pi/lua/pi/binary.lua').find(), release)
end

function tests.installed()
  local prefix = suite.dir .. '/prefix'
  local binary = placed(prefix .. '/share/nvim/site/pack/pi/start/pi')
  equal(binary.prefix(), prefix)
  equal(binary.remedy(), "make install PREFIX='" .. prefix .. "'")
  local bin = program(prefix .. '/bin/pi-nvim')
  equal(binary.find(), bin)
end

function tests.nowhere()
  local before = vim.env.PATH
  vim.env.PATH = suite.dir .. '/empty'
  local path, problem = placed(suite.dir .. '/nowhere').find()
  vim.env.PATH = before
  equal(path, nil)
  check(problem:find('run: make install', 1, true), problem)
end

suite.run()
